import Testing

@testable import Proxy

@Suite struct ServerSentEventsTests {
    @Test func theStreamBeginsWithAComment() {
        #expect(text { ServerSentEvents.appendPreamble(to: $0) } == ": one event a second\nretry: 5000\n\n")
    }

    @Test func anEventHasNumberAndTime() {
        #expect(
            text { ServerSentEvents.appendEvent(60, unixSeconds: 784_111_777, to: $0) }
                == "id: 60\ndata: {\"count\": 60, \"time\": \"Sun, 06 Nov 1994 08:49:37 GMT\"}\n\n")
    }
}
