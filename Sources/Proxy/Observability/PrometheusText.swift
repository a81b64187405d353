public import HTTP
internal import Policy

/// What is measured of the process as a whole, by the control plane.
public struct ProcessMetrics: Sendable {
    public struct CredentialState: Sendable {
        public var name: String
        public var refreshed: UInt64 = 0
        public var failed: UInt64 = 0
        /// Seconds since 1970; nil when it does not expire or there is none.
        public var expiresAt: Int64?
        public init(name: String) { self.name = name }
    }

    public var version = ""
    /// Seconds since 1970, as the other times.
    public var startedAt: Int64 = 0
    public var lastReloadSucceeded = true
    public var lastReloadAt: Int64 = 0
    public var credentials: [CredentialState] = []
    public var logLinesDropped = 0
    public var workers = 0
    public init() {}
}

/// Metrics in the Prometheus text format, version 0.0.4.
public struct PrometheusText {
    public static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    private let out = ByteBuffer(capacity: 16 * 1024)

    public static func render(_ metrics: MetricsSnapshot, labels: MetricLabels, process: ProcessMetrics) -> ByteBuffer {
        let text = PrometheusText()
        text.writeRequests(metrics, labels)
        text.writeConnections(metrics, labels)
        text.writeOutcomes(metrics, labels)
        text.writeAbuse(metrics)
        text.writeProcess(metrics, process)
        return text.out
    }

    // MARK: Families

    private func writeRequests(_ metrics: MetricsSnapshot, _ labels: MetricLabels) {
        family("authproxy_requests_total", "counter", "Requests answered, by listener, rule, status code and method.")
        for (key, value) in metrics.requests.entries {
            let pairs: KeyValuePairs<StaticString, String> = [
                "listener": labels.listeners[UInt16(truncatingIfNeeded: key >> 40)],
                "rule": labels.rules[UInt16(truncatingIfNeeded: key >> 24)],
                "code": Self.code(key >> 8 & 0xffff),
                "method": Self.method(UInt8(truncatingIfNeeded: key)),
            ]
            sample("authproxy_requests_total", pairs, value)
        }

        let name: StaticString = "authproxy_request_duration_seconds"
        family(name, "histogram", "Time from the first byte of a request to the last of its response.")
        var count: UInt64 = 0
        for (index, bound) in MetricsSnapshot.durationBounds.enumerated() {
            count &+= metrics.durations[index]
            bucket(name, Self.seconds(UInt64(bound)), count)
        }
        count &+= metrics.durations[MetricsSnapshot.durationBounds.count]
        bucket(name, "+Inf", count)
        out.append(name)
        out.append("_sum ")
        out.append(text: Self.seconds(metrics.durationMicroseconds))
        out.append("\n")
        out.append(name)
        out.append("_count ")
        out.append(decimal: UInt(count))
        out.append("\n")

        gauge("authproxy_requests_in_flight", "Requests being worked on.", metrics.requestsInFlight)
        family("authproxy_client_bytes_total", "counter", "Bytes of content received from and sent to clients.")
        sample("authproxy_client_bytes_total", ["direction": "received"], metrics.bytesReceived)
        sample("authproxy_client_bytes_total", ["direction": "sent"], metrics.bytesSent)
    }

    private func writeHandshakes(_ name: StaticString, _ help: StaticString, _ handshakes: Handshakes) {
        family(name, "counter", help)
        sample(name, ["result": "full"], handshakes.full)
        sample(name, ["result": "resumed"], handshakes.resumed)
        sample(name, ["result": "failed"], handshakes.failed)
    }

    private func writeConnections(_ metrics: MetricsSnapshot, _ labels: MetricLabels) {
        gauge("authproxy_client_connections", "Client connections that are open.", metrics.clientConnectionsOpen)
        counter(
            "authproxy_client_connections_accepted_total", "Client connections accepted.",
            metrics.clientConnectionsAccepted)
        counter(
            "authproxy_client_connections_shed_total", "Client connections turned away at the limit.",
            metrics.clientConnectionsShed)
        writeHandshakes("authproxy_client_handshakes_total", "TLS handshakes with clients.", metrics.clientHandshakes)
        writeHandshakes("authproxy_upstream_handshakes_total", "TLS handshakes with upstreams.", metrics.upstreamHandshakes)
        gauge("authproxy_tunnels", "Upgraded connections that are open.", metrics.tunnelsOpen)
        counter("authproxy_tunnels_opened_total", "Connections that were upgraded.", metrics.tunnelsOpened)

        family(
            "authproxy_upstream_requests_total", "counter", "Requests sent to upstreams, by upstream and status code.")
        for (key, value) in metrics.upstreamRequests.entries {
            let upstream = labels.upstreams[UInt16(truncatingIfNeeded: key >> 16)]
            let code = key & 0xffff == 0 ? "none" : Self.code(key & 0xffff)
            sample("authproxy_upstream_requests_total", ["upstream": upstream, "code": code], value)
        }
        family("authproxy_upstream_connections", "gauge", "Connections to upstreams.")
        sample("authproxy_upstream_connections", ["state": "idle"], UInt64(max(0, metrics.upstreamConnectionsIdle)))
        sample("authproxy_upstream_connections", ["state": "active"], UInt64(max(0, metrics.upstreamConnectionsActive)))
        counter(
            "authproxy_upstream_connections_opened_total", "Connections to upstreams that were begun.",
            metrics.upstreamConnectionsOpened)
        counter(
            "authproxy_upstream_connections_failed_total", "Connections to upstreams that did not come about.",
            metrics.upstreamConnectionsFailed)
        counter(
            "authproxy_upstream_connections_reused_total", "Requests sent over a connection that was idle.",
            metrics.upstreamConnectionsReused)
        counter(
            "authproxy_upstream_retries_total", "Requests sent again since a reused connection was dead.",
            metrics.upstreamRetries)
    }

    private func writeOutcomes(_ metrics: MetricsSnapshot, _ labels: MetricLabels) {
        family("authproxy_rejected_total", "counter", "Requests that the proxy itself refused or ended, by reason.")
        // Several rejections share a reason: a series may stand here once only.
        var reasons: [(name: String, value: UInt64)] = []
        for (index, rejection) in Rejection.allCases.enumerated() {
            let name = "\(rejection.reason)"
            if let known = reasons.firstIndex(where: { $0.name == name }) {
                reasons[known].value &+= metrics.rejected[index]
            } else {
                reasons.append((name, metrics.rejected[index]))
            }
        }
        for reason in reasons { sample("authproxy_rejected_total", ["reason": reason.name], reason.value) }

        family(
            "authproxy_credential_injections_total", "counter",
            "Credentials put into requests, missing, or kept back, by credential.")
        for (key, value) in metrics.injections.entries {
            guard let result = InjectionResult(rawValue: Int(key & 0xff)) else { continue }
            let credential = labels.credentials[UInt16(truncatingIfNeeded: key >> 8)]
            sample(
                "authproxy_credential_injections_total", ["credential": credential, "result": "\(result.name)"], value)
        }
        family(
            "authproxy_redirects_followed_total", "counter",
            "Redirects of upstreams under rules that follow them, by result.")
        for result in RedirectResult.allCases {
            sample(
                "authproxy_redirects_followed_total", ["result": "\(result.name)"], metrics.redirects[result.rawValue])
        }
    }

    private func writeAbuse(_ metrics: MetricsSnapshot) {
        family(
            "authproxy_http2_abuse_total", "counter",
            "Connections of HTTP/2 that were ended since their peer did too much of what serves nobody, by kind.")
        for abuse in HTTP2Abuse.allCases {
            sample("authproxy_http2_abuse_total", ["kind": "\(abuse.name)"], metrics.http2Abuse[abuse.rawValue])
        }
    }

    private func writeProcess(_ metrics: MetricsSnapshot, _ process: ProcessMetrics) {
        if !process.credentials.isEmpty {
            family(
                "authproxy_credential_refresh_total", "counter",
                "Attempts to get a new value for a credential, by result.")
            for credential in process.credentials {
                sample(
                    "authproxy_credential_refresh_total", ["credential": credential.name, "result": "ok"],
                    credential.refreshed)
                sample(
                    "authproxy_credential_refresh_total", ["credential": credential.name, "result": "failed"],
                    credential.failed)
            }
        }
        if process.credentials.contains(where: { $0.expiresAt != nil }) {
            family(
                "authproxy_credential_expires_timestamp_seconds", "gauge",
                "When the present value of a credential expires.")
            for credential in process.credentials {
                guard let time = credential.expiresAt else { continue }
                sample(
                    "authproxy_credential_expires_timestamp_seconds", ["credential": credential.name],
                    UInt64(max(0, time)))
            }
        }
        gauge(
            "authproxy_config_last_reload_successful", "Whether the configuration was last loaded without an error.",
            process.lastReloadSucceeded ? 1 : 0)
        gauge(
            "authproxy_config_last_reload_timestamp_seconds", "When a configuration last came into force.",
            Int(process.lastReloadAt))
        counter(
            "authproxy_log_lines_dropped_total",
            "Log lines that were not written since the destination was too slow or failed.",
            UInt64(max(0, process.logLinesDropped)))
        counter(
            "authproxy_metric_series_overflow_total",
            "Events not counted under their labels since there are too many series.",
            metrics.requests.overflow &+ metrics.upstreamRequests.overflow &+ metrics.injections.overflow)
        gauge("authproxy_workers", "Worker threads.", process.workers)
        gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", Int(process.startedAt))
        family("authproxy_build_info", "gauge", "Always 1; the version is in the label.")
        sample("authproxy_build_info", ["version": process.version], 1)
    }

    // MARK: Label values

    private static func code(_ value: UInt64) -> String { value == 0 ? "other" : "\(value)" }

    private static func method(_ value: UInt8) -> String {
        switch Method(rawValue: value) {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .connect: "CONNECT"
        case .options: "OPTIONS"
        case .trace: "TRACE"
        case .patch: "PATCH"
        case .other, nil: "other"
        }
    }

    /// From microseconds, without trailing zeros: `0.0005`, `30`.
    static func seconds(_ microseconds: UInt64) -> String {
        var fraction = "\(microseconds % 1_000_000 + 1_000_000)".dropFirst()
        while fraction.last == "0" { fraction = fraction.dropLast() }
        return fraction.isEmpty ? "\(microseconds / 1_000_000)" : "\(microseconds / 1_000_000).\(fraction)"
    }

    // MARK: Lines

    private func family(_ name: StaticString, _ type: StaticString, _ help: StaticString) {
        for part in ["# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"] as [StaticString] {
            out.append(part)
        }
    }

    private func counter(_ name: StaticString, _ help: StaticString, _ value: UInt64) {
        family(name, "counter", help)
        sample(name, [:], value)
    }

    private func gauge(_ name: StaticString, _ help: StaticString, _ value: Int) {
        family(name, "gauge", help)
        out.append(name)
        out.append(" ")
        out.append(decimal: value)
        out.append("\n")
    }

    private func bucket(_ name: StaticString, _ bound: String, _ count: UInt64) {
        out.append(name)
        out.append("_bucket")
        finish(["le": bound], count)
    }

    private func sample(_ name: StaticString, _ labels: KeyValuePairs<StaticString, String>, _ value: UInt64) {
        out.append(name)
        finish(labels, value)
    }

    private func finish(_ labels: KeyValuePairs<StaticString, String>, _ value: UInt64) {
        var separator: StaticString = "{"
        for label in labels {
            out.append(separator)
            out.append(label.key)
            out.append("=\"")
            appendEscaped(label.value)
            out.append("\"")
            separator = ","
        }
        out.append(labels.isEmpty ? " " : "} ")
        out.append(decimal: UInt(value))
        out.append("\n")
    }

    private func appendEscaped(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): out.append("\\\\")
            case UInt8(ascii: "\""): out.append("\\\"")
            case UInt8(ascii: "\n"): out.append("\\n")
            default: out.append(byte)
            }
        }
    }
}
