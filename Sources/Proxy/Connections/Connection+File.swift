internal import Transport

/// A stretch of an open file that is to be sent. Its loader owns the descriptor, the connection moves ahead in it.
final class FileStretch {
    fileprivate(set) var descriptor: Int32 = -1
    fileprivate(set) var position: UInt64 = 0
    fileprivate(set) var end: UInt64 = 0
    /// Up to where ``takeSent()`` has told of.
    private var told: UInt64 = 0
    /// The file ended before the stretch did, or can not be read: what was promised can not be sent.
    fileprivate(set) var isCutShort = false

    func set(_ descriptor: Int32, _ range: Range<UInt64>) {
        self.descriptor = descriptor
        position = range.lowerBound
        told = position
        end = range.upperBound
        isCutShort = false
    }

    /// How much has gone since it was last asked.
    func takeSent() -> Int {
        defer { told = position }
        return Int(position - told)
    }
}

extension FileStretch {
    /// What is read without the kernel's help may turn out to be shorter too.
    func cutShort() { isCutShort = true }
}

extension Connection {
    /// A reader that is fast enough to take everything at once lets others have their turn after so much.
    private static let bytesPerTurn = 2 * 1024 * 1024

    /// Sends a stretch of a file without its bytes passing through this process, now or as the peer takes it; the end of it, or
    /// of the file, is told as drained output. Precondition: no output is unsent.
    final func send(_ stretch: FileStretch) {
        precondition(!hasUnsentOutput, "a file is sent when nothing is before it")
        if descriptor < 0 { return }
        file = stretch
        drainFile()
    }

    final func drainFile() {
        guard let stretch = file, isWritable else { return }
        var budget = Self.bytesPerTurn
        while stretch.position < stretch.end {
            if budget <= 0 {
                loop.runSoon(self)
                return outputMoved()
            }
            let length = Int(min(stretch.end - stretch.position, UInt64(budget)))
            switch SystemCalls.sendFile(stretch.descriptor, from: stretch.position, to: descriptor, length: length) {
            case .bytes(let count):
                stretch.position += UInt64(count)
                budget -= count
            case .wouldBlock:
                isWritable = false
                return outputMoved()
            case .end, .failed:
                // The socket's own failure is announced by an event too; the file's is not.
                stretch.cutShort()
                file = nil
                return
            }
        }
        file = nil
    }
}
