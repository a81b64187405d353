internal import HTTP

/// The text of one list as the control plane read it; crosses threads, and each worker compiles it for itself.
package struct URLListSource: Sendable {
    package var definition: URLListDefinition
    package var text: [UInt8]

    package init(definition: URLListDefinition, text: [UInt8]) {
        self.definition = definition
        self.text = text
    }
}

/// A worker's current lists by number; the numbers are those of the sources and stay when a list is replaced.
package final class URLListTable {
    private let definitions: [URLListDefinition]
    private var lists: [URLList]

    package init(_ sources: [URLListSource] = []) {
        definitions = sources.map(\.definition)
        lists = sources.map { URLList($0.text, format: $0.definition.format) }
    }

    package var count: Int { lists.count }

    package func index(of definition: URLListDefinition) -> Int? {
        definitions.firstIndex { $0.path == definition.path && $0.format == definition.format }
    }

    /// Puts new text in force for requests that are matched from now on; the faults of its lines are returned.
    @discardableResult
    package func replace(_ index: Int, text: [UInt8]) -> [URLListFault] {
        guard lists.indices.contains(index) else { return [] }
        lists[index] = URLList(text, format: definitions[index].format)
        return lists[index].faults
    }

    /// The same with a list that was compiled elsewhere: 50,000 lines take longer than an event loop should be held up.
    /// Only this worker may have it.
    package func replace(_ index: Int, list: URLList) {
        if lists.indices.contains(index) { lists[index] = list }
    }

    package func faults(of index: Int) -> [URLListFault] {
        lists.indices.contains(index) ? lists[index].faults : []
    }

    /// A list that was never read fails: nobody knows what it says.
    func verdict(_ index: Int, _ request: CanonicalRequest) -> MatchVerdict {
        guard lists.indices.contains(index) else { return .fails }
        return lists[index].line(listing: request) >= 0 ? .holds : .refuses
    }

    /// For a person: the line of a list that lists the request; nil when none does.
    func line(_ index: Int, listing request: CanonicalRequest) -> Int? {
        guard lists.indices.contains(index) else { return nil }
        let line = lists[index].line(listing: request)
        return line >= 0 ? line : nil
    }
}
