/// The head of a frame (RFC 9113 section 4.1).
public struct FrameHead: Sendable, Equatable {
    public var length: Int
    public var type: UInt8
    public var flags: UInt8
    public var stream: Int32

    public init(length: Int, type: UInt8, flags: UInt8, stream: Int32) {
        self.length = length
        self.type = type
        self.flags = flags
        self.stream = stream
    }
}

/// Finds the heads of the frames in what a peer sends, however it is cut; the frames themselves are read by others.
public struct FrameWalk {
    /// Of the preface or of the present frame's payload.
    private var left: Int
    private var head = InlineArray<9, UInt8>(repeating: 0)
    private var headCount = 0

    /// A client's first 24 octets are its preface (section 3.4).
    public init(hasPreface: Bool) { left = hasPreface ? 24 : 0 }

    /// The next head that is complete within `bytes`; `position` is moved behind it, or to the end when there is none.
    public mutating func next(in bytes: Span<UInt8>, from position: inout Int) -> FrameHead? {
        while position < bytes.count {
            if left > 0 {
                let skipped = min(left, bytes.count &- position)
                left &-= skipped
                position &+= skipped
                continue
            }
            head[headCount] = bytes[position]
            headCount &+= 1
            position &+= 1
            if headCount == 9 {
                headCount = 0
                let length = Int(head[0]) &<< 16 | Int(head[1]) &<< 8 | Int(head[2])
                let stream = UInt32(head[5] & 0x7f) &<< 24 | UInt32(head[6]) &<< 16 | UInt32(head[7]) &<< 8 | UInt32(head[8])
                left = length
                return FrameHead(length: length, type: head[3], flags: head[4], stream: Int32(stream))
            }
        }
        return nil
    }
}
