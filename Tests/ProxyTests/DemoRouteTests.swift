import HTTP
import Testing

@testable import Proxy

@Suite struct DemoRouteTests {
    @Test(arguments: [
        ("/", DemoRoute.page), ("/redirect", .redirect), ("/landed", .landed), ("/events", .events), ("/upload", .upload),
        ("/websocket", .websocket), ("/headers", .headers), ("/tracker.js", .tracker), ("/bytes/0", .bytes(0)),
        ("/bytes/1000", .bytes(1000)), ("/bytes/107374182400", .bytes(107_374_182_400)), ("/bytes/107374182401", .outOfRange),
        ("/bytes/", .outOfRange), ("/bytes/1x", .outOfRange), ("/bytes/99999999999999999999999", .outOfRange),
        ("/status/200", .status(200)), ("/status/599", .status(599)), ("/status/600", .outOfRange), ("/status/199", .outOfRange),
        ("/status/101", .outOfRange), ("/status/-1", .outOfRange), ("*", .page), ("", .page), ("/redirect/", .page),
        ("/redirects", .page), ("/bytes", .page), ("/Events", .page), ("/some/where/else", .page),
    ])
    func routes(path: String, route: DemoRoute) {
        #expect(DemoRoute(path: Array(path.utf8).span) == route)
    }
}

@Suite struct DemoRepresentationTests {
    @Test(arguments: [
        ([], DemoRepresentation.html),
        (["*/*"], .text),
        (["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"], .html),
        (["application/json"], .json),
        (["application/json, text/plain, */*"], .json),
        (["Application/JSON;charset=utf-8"], .json),
        (["text/plain"], .text),
        (["text/*"], .text),
        (["application/*"], .json),
        (["text/html;q=0.5, application/json;q=0.9"], .json),
        (["text/html;q=0", "*/*"], .text),
        (["text/html;q=0.5, */*;q=0.4"], .html),
        (["text/html; level=1; q=0.2, */*"], .text),
        (["text/html;q=0.1, application/json;q=0.2, text/plain;q=0.300"], .text),
        (["text/html;q=x"], .html),
        (["image/png"], .text),
        ([""], .text),
        (["application/json;q=0.9", "text/html"], .html),
    ])
    func prefersWhatAcceptAsksFor(values: [String], expected: DemoRepresentation) {
        var view = DemoRequestView(method: [], target: [])
        view.fields = values.map { DemoField(name: "accept", value: $0, origin: .client) }
        #expect(DemoRepresentation.preferred(for: view) == expected)
    }
}
