/// Finds what somebody meant who wrote something else.
public enum Suggestions {
    /// The candidate that is a few slips of the pen away, if there is one.
    public static func nearest(to word: String, in candidates: [String]) -> String? {
        let wanted = folded(word)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(wanted, folded(candidate))
            let length = min(wanted.count, candidate.utf8.count)
            // Of two letters one is too much to have slipped.
            let limit = length <= 2 ? 0 : max(1, length / 3)
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// The key that is known elsewhere under the name that was written here.
    static func synonym(of word: String, in candidates: [String]) -> String? {
        guard let meant = synonyms[String(decoding: folded(word), as: UTF8.self)] else { return nil }
        return meant.first { candidates.contains(String($0.prefix { $0 != "." })) }
    }

    /// `trustedProxies`, `Trusted-Proxies` and `trusted_proxies` are one word to the comparison.
    private static func folded(_ word: String) -> [UInt8] {
        var result: [UInt8] = []
        for byte in word.utf8.prefix(64) {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): result.append(byte | 0x20)
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: " "), UInt8(ascii: "."): continue
            default: result.append(byte)
            }
        }
        return result
    }

    /// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
    static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [Int](repeating: i, count: b.count + 1)
            for j in 1...b.count {
                let cost = a[i - 1] == b[j - 1] ? 0 : 1
                row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], beforeLast[j - 2] + 1) }
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }

    /// Names that other proxies use, folded, to ours in order of preference.
    private static let synonyms: [String: [String]] = [
        "add": ["append", "set"], "addheaders": ["set", "request.set"], "address": ["listen", "url", "servers"],
        "addresses": ["listeners", "servers"], "auth": ["authenticate", "credential"], "authentication": ["authenticate"],
        "backend": ["upstream"], "backends": ["upstreams", "servers"], "bind": ["listen", "address"], "cidr": ["client_ip"],
        "cluster": ["upstream"], "clusters": ["upstreams"], "concurrency": ["workers"], "condition": ["match"],
        "conditions": ["match"], "cookies": ["cookie", "cookies"], "delete": ["remove"], "deny": ["block"],
        "destination": ["upstream"], "domain": ["host"], "domains": ["host", "hosts"], "drop": ["remove"],
        "endpoints": ["servers"], "entrypoints": ["listeners"], "ext": ["extension"], "forward": ["proxy"],
        "header": ["request.set", "header", "set"], "headers": ["request.set", "header", "set", "headers"],
        "headersdown": ["response.set"], "headersup": ["request.set"], "hostname": ["host", "server_name"],
        "hostnames": ["host", "hosts"], "hosts": ["host", "hosts"], "ifmissing": ["default", "on_missing"],
        "ip": ["client_ip"], "location": ["to", "path"], "locations": ["rules"], "logging": ["log"], "loglevel": ["log.level"],
        "maxbody": ["body"], "maxbodysize": ["body"], "maxredirects": ["max"], "methods": ["method"], "origin": ["upstream"],
        "origins": ["upstreams"], "output": ["file"], "override": ["set"], "pass": ["password", "proxy"],
        "paths": ["path"], "permanent": ["status"], "port": ["listen", "address"], "ports": ["listeners"],
        "proxypass": ["upstream"], "put": ["set"], "querystring": ["query"], "rate": ["limits"],
        "regex": ["path_regex", "regex"],
        "replace": ["set"], "requestheaders": ["request.set"], "responseheaders": ["response.set"], "retry": ["retries"],
        "return": ["respond"], "reverseproxy": ["proxy"], "rewrite": ["redirects", "path"], "route": ["rules", "match"],
        "router": ["rules"], "routers": ["rules"], "routes": ["rules"], "rule": ["rules"], "secret": ["credential"],
        "secrets": ["credentials"], "server": ["listen", "upstream", "servers", "url"], "servers": ["listeners", "upstreams"],
        "service": ["upstream"], "services": ["upstreams"], "size": ["header_bytes"], "static": ["serve"],
        "stripprefixes": ["strip_prefix"], "target": ["upstream", "to"], "threads": ["workers"], "timeout": ["timeouts"],
        "to": ["upstream", "redirect"], "token": ["bearer", "credential"], "trustedips": ["trusted_proxies"],
        "trustproxies": ["trusted_proxies"], "trace": ["debug"], "trustproxy": ["trusted_proxies"], "unset": ["remove"],
        "uri": ["url", "path"],
        "url": ["upstream", "url"], "urls": ["servers"], "username": ["user"], "verbose": ["log", "level", "debug"],
        "warning": ["warn"],
        "when": ["match"], "workerprocesses": ["workers"],
    ]
}
