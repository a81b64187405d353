internal import HTTP
internal import Transport

/// The demo origin's `text/event-stream` (HTML Living Standard, section 9.2): one event a second, sixty of them.
enum ServerSentEvents {
    static let lastEvent = 60
    static let interval = 1_000

    /// A comment, so that the head and something of the stream arrive at once, and how long a client waits to come back.
    static func appendPreamble(to out: ByteBuffer) { out.append(": one event a second\nretry: 5000\n\n") }

    static func appendEvent(_ number: Int, unixSeconds: Int, to out: ByteBuffer) {
        out.append("id: ")
        out.append(decimal: number)
        out.append("\ndata: {\"count\": ")
        out.append(decimal: number)
        out.append(", \"time\": \"")
        HTTPDate.append(unixSeconds: unixSeconds, to: out)
        out.append("\"}\n\n")
    }
}

/// The demo loader's place in the loop: its seconds, and turns to go on when a long answer has had its share of one.
final class DemoTicker: EventHandler {
    /// The loader takes this out of the loop before it ends.
    private unowned let loader: DemoLoader

    init(loader: DemoLoader) {
        self.loader = loader
        super.init()
    }

    override func deadlinePassed() { loader.secondPassed() }
    override func turn() { loader.goOn() }
}
