internal import HTTP

/// The text of one list as the control plane read it; crosses threads, and each worker compiles it for itself.
public struct URLListSource: Sendable {
    public var definition: URLListDefinition
    public var text: [UInt8]

    public init(definition: URLListDefinition, text: [UInt8]) {
        self.definition = definition
        self.text = text
    }

    /// Whether no line of it lists anything.
    public var listsNothing: Bool {
        var parser = URLListParser()
        parser.parse(text, definition.format, upToFirst: true)
        return !parser.listsSomething
    }

    /// What a person should know of the text, in one line however many faults there are; nil when all is well.
    public var warning: String? {
        var parser = URLListParser()
        parser.parse(text, definition.format)
        let leftOut = parser.faults.filter(\.isLeftOut)
        var parts: [String] = []
        if !parser.listsSomething { parts.append("it lists nothing") }
        if !leftOut.isEmpty {
            parts.append("\(leftOut.count) line\(leftOut.count == 1 ? " is" : "s are") skipped: \(Self.first(leftOut))")
        }
        let odd = parser.faults.filter { !$0.isLeftOut }
        if !odd.isEmpty { parts.append(Self.first(odd)) }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private static func first(_ faults: [URLListFault]) -> String {
        let first = faults.prefix(3).map { "line \($0.line): \($0.message)" }.joined(separator: "; ")
        return faults.count > 3 ? "\(first); and \(faults.count - 3) more" : first
    }
}

/// A worker's current lists by number; the numbers are those of the sources and stay when a list is replaced.
public final class URLListTable {
    private let definitions: [URLListDefinition]
    private var lists: [URLList]

    public init(_ sources: [URLListSource] = []) {
        definitions = sources.map(\.definition)
        lists = sources.map { URLList($0.text, format: $0.definition.format) }
    }

    public var count: Int { lists.count }

    public func index(of definition: URLListDefinition) -> Int? {
        definitions.firstIndex { $0.path == definition.path && $0.format == definition.format }
    }

    /// Puts new text in force for requests that are matched from now on; the faults of its lines are returned.
    @discardableResult
    public func replace(_ index: Int, text: [UInt8]) -> [URLListFault] {
        guard lists.indices.contains(index) else { return [] }
        lists[index] = URLList(text, format: definitions[index].format)
        return lists[index].faults
    }

    /// The same with a list that was compiled elsewhere: 50,000 lines take longer than an event loop should be held up.
    /// Only this worker may have it.
    public func replace(_ index: Int, list: URLList) {
        if lists.indices.contains(index) { lists[index] = list }
    }

    public func faults(of index: Int) -> [URLListFault] {
        lists.indices.contains(index) ? lists[index].faults : []
    }

    /// A list that was never read fails, and one that a URL keeps busy for too long: nobody knows what they say.
    func verdict(_ index: Int, _ request: CanonicalRequest) -> MatchVerdict {
        guard lists.indices.contains(index) else { return .fails }
        let line = lists[index].line(listing: request)
        return line >= 0 ? .holds : line == URLList.undecided ? .fails : .refuses
    }

    /// For a person: the line of a list that lists the request; nil when none does.
    func line(_ index: Int, listing request: CanonicalRequest) -> Int? {
        guard lists.indices.contains(index) else { return nil }
        let line = lists[index].line(listing: request)
        return line >= 0 ? line : nil
    }
}
