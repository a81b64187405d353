import Glibc
import HTTP
import Policy
import Testing

@testable import Proxy

struct PrometheusTextTests {
    private func rendered() -> String {
        var configuration = Configuration()
        let location = SourceLocation(file: "f", line: 1, column: 1)
        configuration.listeners = [ListenerDefinition(address: .tcp(host: "::1", port: 80), display: "[::1]:80")]
        configuration.rules = [RuleDefinition(name: "a\\b\"c\nd", location: location)]
        configuration.upstreams = [UpstreamDefinition(name: "app", servers: [])]
        configuration.credentials = [
            CredentialDefinition(name: "token", kind: .bearer(ValueTemplate(literal: "x")), hosts: [])
        ]
        var labels = MetricLabels()
        let indexes = labels.adopt(configuration)

        let worker = WorkerMetrics()
        for _ in 0..<3 { worker.exchangeBegan() }
        worker.requestAnswered(
            listener: indexes.listeners[0], rule: indexes.rules[0], status: 200, method: .get,
            durationMicroseconds: 700,
            bytesIn: 10, bytesOut: 20)
        worker.requestAnswered(
            listener: indexes.listeners[0], rule: MetricIndexes.none, status: 404, method: .other,
            durationMicroseconds: 61_000_000, bytesIn: 0, bytesOut: 5)
        worker.exchangeEnded()
        for rejection in [Rejection.badRequest, .unsupportedVersion, .notImplemented, .noRule] {
            worker.rejected(rejection)
        }
        worker.upstreamAnswered(indexes.upstreams[0], status: 200)
        worker.upstreamAnswered(indexes.upstreams[0], status: 0)
        worker.credential(indexes.credentials[0], .injected)
        worker.redirected(.handedBack)
        worker.setUpstreamConnections(idle: 4, active: 2)

        var process = ProcessMetrics()
        process.version = "1.0"
        process.startedAt = 1_782_907_200
        var credential = ProcessMetrics.CredentialState(name: "token")
        credential.refreshed = 2
        credential.expiresAt = 1_782_910_000
        process.credentials = [credential]
        process.logLinesDropped = 7
        let buffer = PrometheusText.render(worker.snapshot, labels: labels, process: process)
        return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        "authproxy_requests_total{listener=\"[::1]:80\",rule=\"a\\\\b\\\"c\\nd\",code=\"200\",method=\"GET\"} 1",
        "authproxy_requests_total{listener=\"[::1]:80\",rule=\"\",code=\"404\",method=\"other\"} 1",
        "authproxy_request_duration_seconds_bucket{le=\"0.0005\"} 0",
        "authproxy_request_duration_seconds_bucket{le=\"0.001\"} 1",
        "authproxy_request_duration_seconds_bucket{le=\"60\"} 1",
        "authproxy_request_duration_seconds_bucket{le=\"+Inf\"} 2",
        "authproxy_request_duration_seconds_sum 61.0007",
        "authproxy_request_duration_seconds_count 2",
        "authproxy_requests_in_flight 2",
        "authproxy_client_bytes_total{direction=\"sent\"} 25",
        "authproxy_upstream_requests_total{upstream=\"app\",code=\"200\"} 1",
        "authproxy_upstream_requests_total{upstream=\"app\",code=\"none\"} 1",
        "authproxy_upstream_connections{state=\"idle\"} 4",
        "authproxy_rejected_total{reason=\"bad_request\"} 3",
        "authproxy_rejected_total{reason=\"no_rule\"} 1",
        "authproxy_rejected_total{reason=\"overloaded\"} 0",
        "authproxy_credential_injections_total{credential=\"token\",result=\"injected\"} 1",
        "authproxy_redirects_followed_total{result=\"handed_back\"} 1",
        "authproxy_credential_refresh_total{credential=\"token\",result=\"ok\"} 2",
        "authproxy_credential_expires_timestamp_seconds{credential=\"token\"} 1782910000",
        "authproxy_config_last_reload_successful 1",
        "authproxy_log_lines_dropped_total 7",
        "authproxy_build_info{version=\"1.0\"} 1",
    ])
    func hasTheSample(line: String) {
        #expect(rendered().split(separator: "\n").contains { $0 == line })
    }

    /// The format's rules: each family begins once with HELP and TYPE, its samples follow, no series stands twice.
    @Test func isWellFormed() throws {
        let text = rendered()
        #expect(text.hasSuffix("\n"))
        var families: Set<Substring> = []
        var series: Set<Substring> = []
        var family: Substring = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            #expect(!line.isEmpty)
            if line.hasPrefix("# HELP ") {
                family = line.dropFirst(7).prefix { $0 != " " }
                #expect(families.insert(family).inserted)
            } else if line.hasPrefix("# TYPE ") {
                #expect(line.dropFirst(7).prefix { $0 != " " } == family)
            } else {
                #expect(line.hasPrefix(family))
                let end = try #require(line.lastIndex(of: " "))
                #expect(series.insert(line[..<end]).inserted)
                #expect(Double(line[line.index(after: end)...]) != nil)
            }
        }
        // For a look at it by the format's own parser.
        if let path = getenv("METRICS_FILE"), let file = fopen(path, "w") {
            fputs(text, file)
            fclose(file)
        }
    }
}
