internal import Policy

/// What a place of the configuration means for the references in it.
enum Setting {
    /// Addresses, paths, names: what is read is plain text.
    case structure
    /// What clients see: no files, and no variable that is a secret elsewhere.
    case response
    /// What goes to upstreams, and credentials: what is read is secret.
    case secret
}

/// How the values of a place become templates.
struct TemplateRules {
    var setting: Setting
    /// `{name}` is a variable.
    var readsVariables = true
    /// The place makes the whole value a secret: Authorization, Cookie.
    var isSensitive = false
    /// In credentials the file's own text is secret too.
    var literalsAreSecret = false
    /// The value is a field value (RFC 9110 section 5.5): no control characters.
    var isFieldValue = true

    static let request = TemplateRules(setting: .secret)
    static let sensitiveRequest = TemplateRules(setting: .secret, isSensitive: true)
    static let credential = TemplateRules(setting: .secret, readsVariables: false, isSensitive: true, literalsAreSecret: true)
    static let response = TemplateRules(setting: .response)
    static let path = TemplateRules(setting: .structure)
}

extension ConfigurationDecoder {
    /// A text with its references replaced, for places that keep no templates.
    func resolvedText(_ value: Value, in setting: Setting) -> String? {
        guard let bytes = resolvedBytes(value, in: setting) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            fail(value, "what `\(quoted(value.node.text ?? ""))` stands for is not UTF-8")
            return nil
        }
        return text
    }

    func resolvedBytes(_ value: Value, in setting: Setting) -> [UInt8]? {
        guard let segments = segments(value) else { return nil }
        var bytes: [UInt8] = []
        for segment in segments {
            switch segment {
            case .literal(let text, _), .verbatim(let text): bytes += Array(text.utf8)
            case .reference(let reference):
                guard let part = resolve(reference, value, in: setting) else { return nil }
                bytes += part
            }
        }
        return bytes
    }

    /// A secret that is no template: the admin token.
    func secret(_ value: Value) -> SecretID? {
        guard scalarText(value) != nil, let segments = segments(value), let bytes = resolvedBytes(value, in: .secret) else {
            return nil
        }
        guard !bytes.isEmpty else {
            fail(value, "the secret is empty")
            return nil
        }
        if segments.count == 1, case .reference(let reference) = segments[0] {
            return secrets.add(origin(of: reference), bytes)
        }
        return secrets.add(.literal, bytes)
    }

    /// A value with its variables and secrets in place.
    func template(_ value: Value, _ rules: TemplateRules) -> ValueTemplate? {
        guard let text = scalarText(value), let segments = segments(value) else { return nil }
        var builder = TemplateBuilder(rules: rules)
        for (index, segment) in segments.enumerated() {
            switch segment {
            case .literal(let text, let offset):
                let scheme = index == 0 && segments.count > 1 && isSchemeName(text)
                guard let parts = parts(of: text, at: offset, value, rules) else { return nil }
                for part in parts { builder.add(part, secrets, isScheme: scheme) }
            case .verbatim(let text): builder.add(.literal(Array(text.utf8)), secrets, isScheme: false)
            case .reference(let reference):
                guard let bytes = resolve(reference, value, in: rules.setting) else { return nil }
                if rules.isFieldValue, let problem = illegalByte(bytes) {
                    fail(
                        value, at: reference.offset, length: reference.text.unicodeScalars.count,
                        "what `\(quoted(reference.text))` stands for holds \(problem)", hint: "a value is one line of text")
                    return nil
                }
                if rules.isSensitive && bytes.isEmpty {
                    fail(
                        value, at: reference.offset, length: reference.text.unicodeScalars.count,
                        "what `\(quoted(reference.text))` stands for is empty")
                    return nil
                }
                builder.add(reference, bytes, origin: origin(of: reference), secrets)
            }
        }
        if rules.isFieldValue, let problem = illegalByte(Array(text.utf8)) {
            fail(value, "the value holds \(problem)", hint: "a value is one line of text")
            return nil
        }
        if rules.literalsAreSecret, builder.isEmpty {
            fail(value, "the secret is empty")
            return nil
        }
        return builder.template(source: text)
    }

    /// A text that stands in a value's place; an empty one needs quotes.
    private func scalarText(_ value: Value) -> String? {
        guard let text = value.node.text else {
            expected(value)
            return nil
        }
        if value.node.isPlain && text.isEmpty {
            expected(value, hint: "write `\"\"` for an empty text")
            return nil
        }
        return text
    }

    private func segments(_ value: Value) -> [Substitution.Segment]? {
        do {
            return try Substitution(value.node.text ?? "").segments
        } catch {
            fail(value, at: error.offset, length: error.length, error.message, hint: error.hint)
            return nil
        }
    }

    /// The variables of a literal part. What a reference or `$${` stands for never gets here.
    private func parts(of text: String, at offset: Int, _ value: Value, _ rules: TemplateRules) -> [ValueTemplate.Part]? {
        guard rules.readsVariables else {
            if let parts = try? TemplateParser.parse(literal: text), parts.contains(where: \.isVariable) {
                warn(value, "variables are not replaced in credentials; this is sent as it stands")
            }
            return [.literal(Array(text.utf8))]
        }
        do {
            let parts = try TemplateParser.parse(literal: text)
            for case .variable(let variable) in parts {
                guard let feature = variable.laterFeature else { continue }
                fail(value, "`{\(variable.configurationName)}` is not in this version", hint: "\(feature) comes later")
                return nil
            }
            return parts
        } catch {
            let before = String(decoding: text.utf8.prefix(error.offset), as: UTF8.self).unicodeScalars
            let name = text.unicodeScalars.dropFirst(before.count).prefix { $0 != "}" }
            fail(value, at: offset + before.count, length: name.count + 1, error.message)
            return nil
        }
    }

    private func resolve(_ reference: Substitution.Reference, _ value: Value, in setting: Setting) -> [UInt8]? {
        let length = reference.text.unicodeScalars.count
        switch reference.source {
        case .environment(let name, let fallback):
            if setting == .response { secrets.show(name, value, offset: reference.offset, length: length) }
            // As a shell's `:-`, the default stands for an empty value too.
            let found = environment(name)
            if let text = fallback.map({ found?.isEmpty ?? true ? $0 : found ?? $0 }) ?? found { return Array(text.utf8) }
            fail(
                value, at: reference.offset, length: length, "the environment variable `\(name)` is not set",
                hint: "set it, or give a default: `${env:\(name):-default}`")
        case .file(let path):
            if setting == .response {
                fail(
                    value, at: reference.offset, length: length,
                    "`\(quoted(reference.text))` may be a secret; it may not stand where clients see it")
                return nil
            }
            do {
                var bytes = try FileReader.read(absolute(path), limit: FileReader.secretLimit)
                if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
                if setting == .structure { depends(on: absolute(path)) }
                return bytes
            } catch {
                fail(
                    value, at: reference.offset, length: length, "the file `\(quoted(path))` can not be read: \(error.reason)",
                    hint: path.hasPrefix("/") ? nil : "relative paths begin in the configuration's folder")
            }
        }
        return nil
    }

    private func origin(of reference: Substitution.Reference) -> SecretDefinition.Source {
        switch reference.source {
        case .environment(let name, _): .environment(name)
        case .file(let path): .file(absolute(path))
        }
    }

    /// `Bearer `, `Token `: what may be shown next to a secret.
    private func isSchemeName(_ text: String) -> Bool {
        text.hasSuffix(" ") && text.utf8.count <= 24
            && text.utf8.dropLast().allSatisfy { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a }
    }

    func illegalByte(_ bytes: [UInt8]) -> String? {
        for byte in bytes where byte < 0x20 && byte != 0x09 || byte == 0x7f {
            switch byte {
            case 0x0a, 0x0d: return "a line break"
            case 0: return "a NUL"
            default: return "a control character"
            }
        }
        return nil
    }
}

/// Collects the parts of a value, and the text that it may be shown as.
private struct TemplateBuilder {
    let rules: TemplateRules
    private var parts: [ValueTemplate.Part] = []
    private var display = ""
    private var hasSecret = false

    init(rules: TemplateRules) { self.rules = rules }

    var isEmpty: Bool { parts.isEmpty }

    mutating func add(_ part: ValueTemplate.Part, _ secrets: SecretCollector, isScheme: Bool) {
        guard case .literal(let bytes) = part else {
            if case .variable(let variable) = part { display += "{\(variable.configurationName)}" }
            return parts.append(part)
        }
        if bytes.isEmpty { return }
        if rules.isSensitive && !isScheme {
            if !display.hasSuffix("***") { display += "***" }
        } else {
            display += String(decoding: bytes, as: UTF8.self)
        }
        parts.append(rules.literalsAreSecret && !isScheme ? .secret(secrets.add(.literal, bytes)) : part)
    }

    mutating func add(
        _ reference: Substitution.Reference, _ bytes: [UInt8], origin: SecretDefinition.Source, _ secrets: SecretCollector
    ) {
        display += reference.text
        if rules.setting == .secret {
            hasSecret = true
            parts.append(.secret(secrets.add(origin, bytes)))
        } else {
            parts.append(.literal(bytes))
        }
    }

    func template(source: String) -> ValueTemplate {
        let isSecret = hasSecret || rules.isSensitive
        return ValueTemplate(parts: parts, display: rules.isSensitive ? display : source, isSecret: isSecret)
    }
}

extension ValueTemplate.Part {
    fileprivate var isVariable: Bool {
        if case .variable = self { return true }
        return false
    }
}

extension Variable {
    /// What the variable needs that is not in this version.
    fileprivate var laterFeature: String? {
        switch self {
        case .clientUser, .clientGroups, .clientClaim: "client authentication"
        default: nil
        }
    }

    /// As it stands in the file.
    fileprivate var configurationName: String {
        switch self {
        case .requestMethod: "request.method"
        case .requestScheme: "request.scheme"
        case .requestHost: "request.host"
        case .requestAuthority: "request.authority"
        case .requestPath: "request.path"
        case .requestQuery: "request.query"
        case .requestTarget: "request.target"
        case .requestID: "request.id"
        case .requestHeader(let name): "request.header.\(name)"
        case .requestCookie(let name): "request.cookie.\(name)"
        case .clientIP: "client.ip"
        case .clientPort: "client.port"
        case .clientUser: "client.user"
        case .clientGroups: "client.groups"
        case .clientClaim(let name): "client.claim.\(name)"
        case .clientCertificateSubject: "client.cert.subject"
        case .clientCertificateSAN: "client.cert.san"
        case .upstreamHost: "upstream.host"
        case .ruleName: "rule.name"
        case .timeUnix: "time.unix"
        case .timeRFC3339: "time.rfc3339"
        case .uuid: "uuid"
        }
    }
}
