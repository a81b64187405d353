internal import Config
internal import HTTP
internal import Policy
internal import Proxy
internal import Transport

/// `authproxy explain METHOD URL`: which rules take a request, and what becomes of it.
enum ExplainCommand {
    static func run(_ words: [String]) throws -> Int32 {
        let arguments = try Arguments(
            words, command: "explain", options: Arguments.configurationOptions + ["--request-header", "--client"],
            switches: ["--no-color"], short: ["-c": "--config", "-H": "--request-header"])
        guard arguments.positional.count == 2 else {
            throw UsageError("usage: authproxy explain METHOD URL [-H 'NAME: VALUE']... [-c FILE]")
        }
        let colour = Terminal.wantsColour(arguments)
        let configuration: Configuration
        do {
            configuration = try ConfigurationLoader.load(
                path: arguments.configurationPath, environment: EnvironmentVariables.value, overrides: arguments.overrides
            ).configuration
        } catch {
            Terminal.error(error.render(color: colour))
            return ExitStatus.usage
        }
        let request = try RequestText(
            method: arguments.positional[0], url: arguments.positional[1], fields: arguments.values["--request-header"] ?? [])
        let explanation = Explanation(
            head: request.head, client: try client(arguments.value("--client") ?? "127.0.0.1", request, configuration),
            configuration: configuration, urlLists: URLListFiles.read(configuration.rules))
        Terminal.print(ExplanationText(explanation, fault: request.fault, colour: colour).text)
        return ExitStatus.success
    }

    private static func client(_ text: String, _ request: RequestText, _ configuration: Configuration) throws -> ClientFacts {
        guard let address = IPAddress.parse(text) else { throw UsageError("--client: `\(text)` is no IP address") }
        let buffer = ByteBuffer()
        address.append(to: buffer)
        return ClientFacts(
            peerAddress: address, peerPort: 50_000, scheme: request.scheme, listenerPort: request.port,
            peerIsTrusted: configuration.trustedProxies.contains { $0.contains(address) }, addressText: buffer)
    }
}

/// A request head from words on a command line.
private struct RequestText {
    let head = ByteBuffer()
    let target: String
    /// What is wrong with the URL, in words; nil when nothing is seen to be.
    let fault: String?
    let scheme: Scheme
    let port: UInt16

    init(method: String, url: String, fields: [String]) throws {
        var rest = url[...]
        if rest.hasPrefix("https://") {
            scheme = .https
            rest = rest.dropFirst(8)
        } else {
            scheme = .http
            if rest.hasPrefix("http://") { rest = rest.dropFirst(7) }
        }
        var authority = "localhost"
        if !rest.hasPrefix("/") {
            let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        target = rest.isEmpty ? "/" : rest.hasPrefix("?") ? "/" + rest : String(rest)
        fault =
            Authority.parse(authority) == nil
            ? "`\(authority)` is no host; write a path, or a URL that begins with http:// or https://"
            : TargetFault.describe(target)
        port = Authority.parse(authority)?.port ?? scheme.defaultPort
        head.append(text: "\(method) \(target) HTTP/1.1\r\n")
        if !fields.contains(where: { $0.lowercased().hasPrefix("host:") }) { head.append(text: "Host: \(authority)\r\n") }
        for field in fields {
            guard field.contains(":"), !field.contains("\n"), !field.contains("\r") else {
                throw UsageError("-H: `\(field)` is not NAME: VALUE")
            }
            head.append(text: field + "\r\n")
        }
        head.append("\r\n")
    }
}

/// The explanation as lines for a terminal.
private struct ExplanationText {
    private(set) var text = ""
    private let colour: Bool

    init(_ explanation: Explanation, fault: String?, colour: Bool) {
        self.colour = colour
        if !explanation.canonicalURL.isEmpty { text += "request   \(explanation.canonicalURL)\n" }
        writeRules(explanation)
        for passed in explanation.passed { text += "\npassed    \(passed)" }
        if !explanation.passed.isEmpty { text += "\n" }
        if let rejection = explanation.rejection {
            text += "\nanswer    \(rejection.status) \(rejection.reason): \(rejection.sentence)\n"
            if rejection == .badRequest, let fault { text += "          \(fault)\n" }
            return
        }
        text += "\naction    \(explanation.action)\n"
        for (index, line) in explanation.insertions.enumerated() { text += "\(index == 0 ? "html      " : "          ")\(line)\n" }
        if let request = explanation.request {
            text += "upstream  \(explanation.upstream)\nredirects \(explanation.redirects)\ncache     \(explanation.cacheStorage)\n"
            write(request)
        }
    }

    private mutating func writeRules(_ explanation: Explanation) {
        if explanation.rules.isEmpty { return }
        text += "\nrules\n"
        for rule in explanation.rules {
            if rule.matches && !rule.isBehindTheAction {
                text += "  \(green("✓")) \(rule.name)\(rule.evidence.map { "  " + dim($0) } ?? "")\n"
            } else if rule.matches {
                text += "  \(dim("-")) \(rule.name)  \(dim("an earlier rule has taken the request"))\n"
            } else {
                text += "  \(dim("✗")) \(rule.name)  \(dim(rule.refusal ?? ""))\n"
            }
        }
    }

    private mutating func write(_ request: RequestDescription) {
        text += "\nsent\n  \(request.method) \(request.target) HTTP/1.1\n"
        let width = min(60, request.lines.map { $0.name.count + $0.value.count + 2 }.max() ?? 0)
        for line in request.lines {
            let plain = "\(line.name): \(line.value)"
            let padding = String(repeating: " ", count: max(0, width - plain.count))
            let isInjected = line.provenance.hasPrefix("rule ") || line.provenance.hasPrefix("credential ")
            text += "  \(isInjected ? green(plain) : plain)\(padding)  \(dim("← \(line.provenance)"))\n"
        }
        write("removed", request.removed)
        write("withheld", request.withheld)
    }

    private mutating func write(_ title: String, _ omissions: [PlanDescription.Omission]) {
        if omissions.isEmpty { return }
        text += "\n\(title)\n"
        for omission in omissions { text += "  \(omission.name)  \(dim(omission.reason))\n" }
    }

    private func green(_ text: String) -> String { colour ? "\u{1b}[32m\(text)\u{1b}[0m" : text }
    private func dim(_ text: String) -> String { colour ? "\u{1b}[2m\(text)\u{1b}[0m" : text }
}
