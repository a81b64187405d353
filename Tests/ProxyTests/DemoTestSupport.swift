import HTTP

@testable import Proxy

/// What a rendering wrote, as text.
func text(_ write: (ByteBuffer) -> Void) -> String {
    let out = ByteBuffer()
    write(out)
    return String(decoding: octets(out), as: UTF8.self)
}

func octets(_ buffer: ByteBuffer) -> [UInt8] { (0..<buffer.count).map { buffer[$0] } }

/// A request that a rule, a credential and the proxy have had their hands in.
func demoView() -> DemoRequestView {
    var view = DemoRequestView(method: Array("GET".utf8), target: Array("/items?x=1".utf8))
    view.fields = [
        DemoField(name: "Host", value: "127.0.0.1:8080", origin: .client),
        DemoField(name: "Accept", value: "*/*", origin: .client),
        DemoField(name: "X-Env", value: "prod", origin: .rule(name: "api", verb: "set")),
        DemoField(name: "Authorization", value: "Bearer ${env:API_TOKEN}", origin: .credential(name: "service")),
        DemoField(name: "Via", value: "1.1 authproxy-a1", origin: .authproxy),
    ]
    view.removed = [DemoRemoval(name: "x_env", reason: "rule api sets it")]
    return view
}
