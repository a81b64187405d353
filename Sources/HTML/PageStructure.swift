/// Follows where head and body of a page begin and end, also where their tags are missing: the part of the tree construction
/// (WHATWG HTML section 13.2.6.4) that decides it, by the tags that are told of.
struct PageStructure {
    enum Phase {
        case beforeHead  // ─► inHead, afterHead, inBody, ended
        case inHead  // ─► afterHead, inBody, ended
        case afterHead  // ─► inBody, ended
        case inBody  // ─► ended
        case ended
    }

    /// A set of points, to be inserted at in their order.
    struct Points: OptionSet {
        let rawValue: UInt8
        init(rawValue: UInt8) { self.rawValue = rawValue }
        init(_ point: InsertionPoint) { rawValue = 1 << UInt8(point.rawValue) }

        static let headStart = Points(.headStart)
        static let headEnd = Points(.headEnd)
        static let bodyStart = Points(.bodyStart)
        static let bodyEnd = Points(.bodyEnd)
    }

    private(set) var phase = Phase.beforeHead
    /// There is something that a page could be made of.
    private(set) var hasContent = false
    /// The page has frames in place of a body.
    private(set) var hasFrames = false

    /// The points that lie before the text.
    mutating func text() -> Points {
        hasContent = true
        return openBody()
    }

    /// The points that lie before the tag, and those behind it.
    mutating func startTag(_ name: TagName) -> (before: Points, after: Points) {
        hasContent = true
        if phase == .inBody || phase == .ended || name == .html { return ([], []) }
        if name == .head {
            if phase != .beforeHead { return ([], []) }
            phase = .inHead
            return ([], .headStart)
        }
        if name.belongsInHead {
            if phase != .beforeHead { return ([], []) }
            phase = .inHead
            return (.headStart, [])
        }
        if name == .body {
            let before = openBody().subtracting(.bodyStart)
            return (before, .bodyStart)
        }
        if name == .frameset {
            let before = openBody().subtracting(.bodyStart)
            phase = .ended
            hasFrames = true
            return (before, [])
        }
        return (openBody(), [])
    }

    /// The points that lie before the tag.
    mutating func endTag(_ name: TagName) -> Points {
        hasContent = true
        switch name {
        case .head:
            if phase == .beforeHead || phase == .inHead {
                let points: Points = phase == .inHead ? .headEnd : [.headStart, .headEnd]
                phase = .afterHead
                return points
            }
            return []
        case .body, .html:
            if phase == .ended { return [] }
            let points = openBody()
            phase = .ended
            return points.union(.bodyEnd)
        case .br: return openBody()
        default: return []
        }
    }

    private mutating func openBody() -> Points {
        let points: Points =
            switch phase {
            case .beforeHead: [.headStart, .headEnd, .bodyStart]
            case .inHead: [.headEnd, .bodyStart]
            case .afterHead: .bodyStart
            case .inBody, .ended: []
            }
        if phase != .ended { phase = .inBody }
        return points
    }
}
