/// The head of a frame (RFC 9113 section 4.1).
public struct FrameHead: Sendable, Equatable {
    public var length: Int
    public var type: UInt8
    public var flags: UInt8
    public var stream: Int32
    /// What a PRIORITY frame makes its stream depend on (RFC 7540 section 5.3.1): a stream, or 0 for none, as with any other frame.
    public var dependency: Int32

    public init(length: Int, type: UInt8, flags: UInt8, stream: Int32, dependency: Int32 = 0) {
        self.length = length
        self.type = type
        self.flags = flags
        self.stream = stream
        self.dependency = dependency
    }
}

/// Finds the heads of the frames in what a peer sends, however it is cut; the frames themselves are read by others.
public struct FrameWalk {
    /// Of the preface or of the present frame's payload.
    private var left: Int
    /// A frame's head, and behind it the first word of a PRIORITY frame.
    private var head = InlineArray<13, UInt8>(repeating: 0)
    private var headCount = 0

    /// Of a head, and of what is kept of a PRIORITY frame that has the length of one.
    private static let headLength = 9
    private static let dependencyLength = 4
    private static let priority: UInt8 = 2
    private static let priorityLength = 5

    /// A client's first 24 octets are its preface (section 3.4).
    public init(hasPreface: Bool) { left = hasPreface ? 24 : 0 }

    /// The next head that is complete within `bytes`; `position` is moved behind it, or to the end when there is none. A PRIORITY
    /// frame's is complete with what its stream depends on.
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
            if headCount == Self.headLength {
                if isPriority { continue }
                return complete(dependency: 0)
            }
            if headCount == Self.headLength + Self.dependencyLength { return complete(dependency: number(at: Self.headLength)) }
        }
        return nil
    }

    private var length: Int { Int(head[0]) &<< 16 | Int(head[1]) &<< 8 | Int(head[2]) }
    private var isPriority: Bool { head[3] == Self.priority && length == Self.priorityLength }

    /// A stream's number: 31 bits behind one that is reserved.
    private func number(at index: Int) -> Int32 {
        Int32(head[index] & 0x7f) &<< 24 | Int32(head[index &+ 1]) &<< 16 | Int32(head[index &+ 2]) &<< 8 | Int32(head[index &+ 3])
    }

    private mutating func complete(dependency: Int32) -> FrameHead {
        left = length &- (headCount &- Self.headLength)
        headCount = 0
        return FrameHead(length: length, type: head[3], flags: head[4], stream: number(at: 5), dependency: dependency)
    }
}
