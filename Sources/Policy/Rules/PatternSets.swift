internal import HTTP

/// A ``HostPattern`` as lower-cased bytes.
struct CompiledHost {
    let name: [UInt8]
    let isSubdomains: Bool
    let isAny: Bool

    init(_ pattern: HostPattern) {
        switch pattern {
        case .exact(let text): (name, isSubdomains, isAny) = (RuleBytes.lowered(text), false, false)
        case .subdomains(let text): (name, isSubdomains, isAny) = (RuleBytes.lowered(text), true, false)
        case .any: (name, isSubdomains, isAny) = ([], false, true)
        }
    }

    /// `host` is lower-cased, without port; `*.x` is any depth below `x`, not `x`.
    func matches(_ host: Span<UInt8>) -> Bool {
        if isAny { return true }
        guard isSubdomains else { return RuleBytes.equal(host, name) }
        let start = host.count - name.count
        guard start > 1 && host[start - 1] == UInt8(ascii: ".") else { return false }
        return RuleBytes.equal(host.extracting(start..<host.count), name)
    }

    var key: FilingKey? {
        if isAny { return nil }
        return isSubdomains ? .subdomains(of: name.span) : .host(name.span)
    }
}

/// The hosts of one rule; long lists are searched by hash.
final class HostSet {
    private static let longList = 8
    let patterns: [CompiledHost]
    private let index: HostPathIndex?

    init(_ patterns: [HostPattern]) {
        let compiled = patterns.map(CompiledHost.init)
        self.patterns = compiled
        index =
            compiled.count > HostSet.longList
            ? HostPathIndex(compiled.map { Filing(hosts: $0.key.map { [$0] }, paths: nil) }) : nil
    }

    func matches(_ host: Span<UInt8>) -> Bool {
        guard let index else {
            for pattern in patterns where pattern.matches(host) { return true }
            return false
        }
        index.begin(host: host, path: host.extracting(0..<0), from: 0)
        var candidate = index.next()
        while candidate >= 0 {
            if patterns[candidate].matches(host) { return true }
            candidate = index.next()
        }
        return false
    }

    /// nil when some pattern takes any host.
    var keys: [FilingKey]? {
        let keys = patterns.compactMap(\.key)
        return keys.count == patterns.count ? keys : nil
    }
}

/// The path globs of one rule; long lists are searched by hash.
final class PathSet {
    private static let longList = 8
    let globs: [Glob]
    private let index: HostPathIndex?

    init(_ globs: [String]) {
        let compiled = globs.map { Glob($0, .path) }
        self.globs = compiled
        index =
            compiled.count > PathSet.longList
            ? HostPathIndex(compiled.map { Filing(hosts: nil, paths: FilingKey.path($0).map { [$0] }) }) : nil
    }

    func matches(_ path: Span<UInt8>) -> Bool {
        guard let index else {
            for glob in globs where glob.matches(path) { return true }
            return false
        }
        index.begin(host: path.extracting(0..<0), path: path, from: 0)
        var candidate = index.next()
        while candidate >= 0 {
            if globs[candidate].matches(path) { return true }
            candidate = index.next()
        }
        return false
    }

    /// nil when some glob has no leading segment of its own.
    var keys: [FilingKey]? {
        let keys = globs.compactMap { FilingKey.path($0) }
        return keys.count == globs.count ? keys : nil
    }
}
