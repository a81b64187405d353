internal import Transport

extension ClientConnection {
    /// What became of moving large content to the upstream; false when there is nothing more to be had at present.
    func spliced(_ result: IOResult) -> Bool {
        switch result {
        case .bytes(let count):
            contentLeft -= UInt64(count)
            loop.setDeadline(self, after: worker.timeouts.bodyIdle)
            exchange?.contentWasSpliced(count)
            if contentLeft == 0 { requestComplete() }
            return true
        case .wouldBlock: return false
        case .end: clientFinished()
        case .failed: abandon()
        }
        return false
    }
}
