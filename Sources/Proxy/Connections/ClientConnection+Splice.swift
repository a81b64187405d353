internal import HTTP
internal import Transport

extension ClientConnection {
    /// Content may go in here without being looked at: nothing that it would overtake is left.
    var takesKernelContent: Bool {
        guard case .length = responseFraming, !hasUnsentOutput, tls == nil else { return false }
        worker.flushClientOutput()
        return isOpen && !hasUnsentOutput
    }

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
