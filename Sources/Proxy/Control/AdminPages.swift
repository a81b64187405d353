internal import HTTP
internal import Policy
internal import Transport

/// What `/metrics` shows: the workers' numbers added up, and the process's own.
enum MetricsPage {
    static func render(_ server: Server, _ reports: [WorkerReport]) -> String {
        var process = ProcessMetrics()
        process.version = ProductVersion.text
        process.startedAt = server.startedAt / 1000
        process.lastReloadSucceeded = server.lastReloadSucceeded
        process.lastReloadAt = server.lastReloadAt / 1000
        process.credentials = server.configuration.credentials.map { ProcessMetrics.CredentialState(name: $0.name) }
        process.logLinesDropped = server.logWriter.lostLines
        process.workers = reports.count
        let metrics = reports.reduce(MetricsSnapshot()) { $0 + $1.metrics }
        let text = PrometheusText.render(metrics, labels: server.labels, process: process)
        return String(decoding: Array(copying: text.span), as: UTF8.self)
    }
}

/// What `/status` shows: one JSON object.
enum StatusPage {
    static func render(_ server: Server, _ reports: [WorkerReport]) -> String {
        let metrics = reports.reduce(MetricsSnapshot()) { $0 + $1.metrics }
        let configuration = server.configuration
        let listening = server.listening.map(JSONText.quoted).joined(separator: ",")
        let credentials = configuration.credentials.map { JSONText.quoted($0.name) }.joined(separator: ",")
        let answered = metrics.requests.entries.reduce(0) { $0 &+ $1.value }
        let fields: [(String, String)] = [
            ("version", JSONText.quoted(ProductVersion.text)),
            ("pid", "\(SystemCalls.processID)"),
            ("state", JSONText.quoted(server.isDraining ? "stopping" : "serving")),
            ("config", configuration.file.map(JSONText.quoted) ?? "null"),
            ("listening", "[\(listening)]"),
            ("instance", JSONText.quoted("authproxy-\(server.instance)")),
            ("started", "\(server.startedAt / 1000)"),
            ("last_reload", "\(server.lastReloadAt / 1000)"),
            ("last_reload_successful", server.lastReloadSucceeded ? "true" : "false"),
            ("workers", "\(reports.count)"),
            ("rules", "\(configuration.rules.count)"),
            ("credentials", "[\(credentials)]"),
            ("clients", "\(reports.reduce(0) { $0 + $1.clients })"),
            ("requests_in_flight", "\(metrics.requestsInFlight)"),
            ("requests", "\(answered)"),
            ("upstream_connections_idle", "\(metrics.upstreamConnectionsIdle)"),
            ("upstream_connections_active", "\(metrics.upstreamConnectionsActive)"),
            ("tunnels", "\(metrics.tunnelsOpen)"),
            ("log_lines_dropped", "\(server.logWriter.lostLines)"),
        ]
        return "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}\n"
    }
}

enum JSONText {
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20: result += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

public enum ProductVersion {
    public static let text = "0.1.0"
}
