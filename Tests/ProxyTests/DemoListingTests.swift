import HTTP
import Testing

@testable import Proxy

@Suite struct DemoListingTests {
    @Test func textReadsLikeADiff() {
        #expect(
            text { DemoListing.appendText(demoView(), contentLength: 3, to: $0) }
                == """
                  GET /items?x=1 HTTP/1.1
                  Host: 127.0.0.1:8080
                  Accept: */*
                + X-Env: prod  (rule api, set)
                + Authorization: Bearer ${env:API_TOKEN}  (credential service)
                + Via: 1.1 authproxy-a1  (authproxy)
                - x_env  (rule api sets it)

                  3 bytes of content

                This is the request as it reached the demo origin; + was added by authproxy, - was removed.
                More: /headers (JSON)  /redirect  /events  /upload  /websocket  /bytes/1000000  /status/503  /tracker.js

                """)
    }

    @Test func jsonHasAllOfIt() {
        #expect(
            text { DemoListing.appendJSON(demoView(), contentLength: 0, to: $0) }
                == """
                {
                  "method": "GET",
                  "target": "/items?x=1",
                  "content_length": 0,
                  "fields": [
                    {"name": "Host", "value": "127.0.0.1:8080", "from": "client"},
                    {"name": "Accept", "value": "*/*", "from": "client"},
                    {"name": "X-Env", "value": "prod", "from": "rule", "rule": "api", "verb": "set"},
                    {"name": "Authorization", "value": "Bearer ${env:API_TOKEN}", "from": "credential", "credential": "service"},
                    {"name": "Via", "value": "1.1 authproxy-a1", "from": "authproxy"}
                  ],
                  "removed": [
                    {"name": "x_env", "why": "rule api sets it"}
                  ],
                  "withheld": []
                }

                """)
    }

    @Test func whatIsMissingIsTold() {
        var view = DemoRequestView(method: [0x47], target: [0x2f])
        view.withheld = [DemoRemoval(name: "Authorization", reason: "credential service: not permitted there")]
        #expect(
            text { DemoListing.appendText(view, contentLength: 0, to: $0) }.hasPrefix(
                "  G / HTTP/1.1\n! Authorization  (credential service: not permitted there)\n"))
        #expect(
            text { DemoListing.appendJSON(view, contentLength: 0, to: $0) }.contains(
                "\"withheld\": [\n    {\"name\": \"Authorization\", \"why\": \"credential service: not permitted there\"}\n  ]\n}"))
    }

    @Test func anEmptyRequestIsStillJSON() {
        #expect(
            text { DemoListing.appendJSON(DemoRequestView(method: [0x47], target: [0x22, 0xff]), contentLength: 7, to: $0) }
                == """
                {
                  "method": "G",
                  "target": "\\"\\ufffd",
                  "content_length": 7,
                  "fields": [],
                  "removed": [],
                  "withheld": []
                }

                """)
    }
}

@Suite struct ShownTextTests {
    @Test(arguments: [
        (ShownText.Place.html, "a<b>&\"'\\é", "a&lt;b&gt;&amp;&quot;&#39;\\é"),
        (.json, "a<b>&\"'\\é", "a\\u003cb\\u003e&\\\"'\\\\é"),
        (.terminal, "a<b>&\"'\\é", "a<b>&\"'\\é"),
        // A terminal's control sequences: ESC, and CSI as one scalar.
        (.terminal, "\u{1b}[31m\u{9b}2J\u{7f}\tx", "\\u{001b}[31m\\u{009b}2J\\u{007f}\tx"),
        (.html, "\u{0}\u{1b}\t", "\\u{0000}\\u{001b}\t"),
        (.json, "\u{0}\t\n", "\\u0000\\u0009\\u000a"),
        // Overrides of the direction of text.
        (.html, "abc\u{202e}fed\u{2066}", "abc\\u{202e}fed\\u{2066}"),
        (.json, "\u{202e}\u{2028}", "\\u202e\\u2028"),
    ])
    func showsButDoesNothing(place: ShownText.Place, given: String, shown: String) {
        #expect(text { ShownText.append(given, to: $0, as: place) } == shown)
    }

    @Test(
        arguments: [
            ([0x61, 0xff, 0x62], "a\\xffb"),
            ([0xc0, 0xaf], "\\xc0\\xaf"),  // overlong
            ([0xe2, 0x82, 0x3c], "\\xe2\\x82&lt;"),  // cut short by markup
            ([0xe2, 0x82], "\\xe2\\x82"),
            ([0xed, 0xa0, 0x80], "\\xed\\xa0\\x80"),  // a surrogate
            ([0xf4, 0x90, 0x80, 0x80], "\\xf4\\x90\\x80\\x80"),
            ([0xf0, 0x9f, 0x98, 0x80], "😀"),
            ([0xe2, 0xc3, 0xa9], "\\xe2é"),
        ] as [([UInt8], String)])
    func octetsThatAreNoUTF8AreNamed(given: [UInt8], shown: String) {
        #expect(text { ShownText.append(given.span, to: $0, as: .html) } == shown)
    }
}
