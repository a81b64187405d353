/// What is wrong with a request target, in words; for whoever explains a refusal, never for the client.
public enum TargetFault {
    public static func describe(_ target: String) -> String? {
        let bytes = Array(target.utf8)
        guard let first = bytes.first else { return "the target is empty" }
        if bytes.contains(where: { $0 <= 0x20 || $0 == 0x7f }) { return "a target has no spaces and no control characters" }
        let isAbsolute = target.lowercased().hasPrefix("http://") || target.lowercased().hasPrefix("https://")
        if first != UInt8(ascii: "/") && !isAbsolute && target != "*" { return "a target begins with /, http:// or https://" }
        if bytes.contains(UInt8(ascii: "#")) { return "a target has no #: fragments stay with the client" }
        let path = bytes.prefix { $0 != UInt8(ascii: "?") }
        if path.contains(UInt8(ascii: "\\")) { return "a path has no backslash" }
        for index in path.indices where path[index] == UInt8(ascii: "%") {
            let digits = path[(index + 1)...].prefix(2)
            guard digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                return "a broken escape: % is followed by two hexadecimal digits"
            }
            if code == 0 { return "%00, a NUL, is refused" }
            if code == UInt8(ascii: "\\") { return "%5C, a backslash, is refused" }
        }
        if isAbsolute && target.split(separator: "/").dropFirst().first?.contains("@") ?? false {
            return "a target has no user information"
        }
        let segments = String(decoding: path, as: UTF8.self).lowercased().replacing("%2e", with: ".").split(separator: "/")
        if segments.contains(where: { $0.hasPrefix(".;") || $0.hasPrefix("..;") }) { return "a dot segment has no parameters" }
        return nil
    }
}
