/// What a rule does with a header; which names it may do it with depends on that.
enum HeaderUse {
    case remove, rename, set, append, setDefault, credential
    case respond
}

extension ConfigurationDecoder {
    /// A header name that may stand here: a token, and none of those that the proxy itself answers for.
    func headerName(_ value: Value, for use: HeaderUse, isRequest: Bool = true) -> String? {
        guard let text = text(value) else { return nil }
        guard isToken(text), !text.contains("*"), text.utf8.count <= 256 else {
            expected(value, hint: text.contains("*") ? "`*` may stand in `remove` only, at the end" : tokenHint(text))
            return nil
        }
        return refused(text, value, for: use, isRequest: isRequest) ? nil : text
    }

    /// `X-Internal` or `X-Debug-*`.
    func headerPattern(_ value: Value, isRequest: Bool) -> String? {
        guard let text = text(value) else { return nil }
        guard text.hasSuffix("*") else { return headerName(value, for: .remove, isRequest: isRequest) }
        let prefix = text.dropLast()
        guard isToken(prefix), !prefix.contains("*"), text.utf8.count <= 256 else {
            expected(
                value, hint: text == "*" ? "name what is to be removed" : "`*` stands at the end, behind a name's beginning")
            return nil
        }
        return text
    }

    private func refused(_ name: String, _ value: Value, for use: HeaderUse, isRequest: Bool) -> Bool {
        let reason: String
        switch name.lowercased() {
        case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "http2-settings":
            reason = "it belongs to one connection (RFC 9110 section 7.6.1), and the proxy writes it itself"
        case "upgrade":
            reason = "it belongs to one connection; which protocols may be upgraded to is `proxy.upgrades`"
        case "content-length":
            reason = "the proxy writes it itself, from what it sends"
        case "via", "cdn-loop":
            reason = "the proxy writes it itself, to find loops"
        case "expect" where isRequest:
            reason = "the proxy writes it itself"
        case "authproxy-error" where !isRequest:
            reason = "it tells the proxy's own errors from the upstream's answers"
        case "host" where isRequest && use != .set:
            reason = "a request has exactly one; `request.set` may set it"
        default: return false
        }
        fail(value, "`\(name)` can not stand here: \(reason)")
        return true
    }

    /// Names of one mapping that are the same name to the proxy.
    func checkUnique(_ names: [(name: String, value: Value)]) {
        var seen: [[UInt8]: String] = [:]
        for (name, value) in names {
            let folded = foldedName(name)
            if let first = seen[folded] {
                fail(value, "`\(name)` and `\(first)` are one name", hint: "keep one of the two")
            } else {
                seen[folded] = name
            }
        }
    }
}
