import HTTP

@testable import HTML

/// Runs pages through an editor, in slices of any size.
enum EditedPages {
    /// Markers at all four points.
    static let markers = InsertionPoint.allCases.map {
        InsertionDefinition(point: $0, content: .html(Array(marker($0).utf8)), display: "html")
    }

    static func marker(_ point: InsertionPoint) -> String {
        switch point {
        case .headStart: "[HS]"
        case .headEnd: "[HE]"
        case .bodyStart: "[BS]"
        case .bodyEnd: "[BE]"
        }
    }

    static func definition(_ point: InsertionPoint, _ content: InsertionDefinition.Content) -> InsertionDefinition {
        InsertionDefinition(point: point, content: content, display: "")
    }

    static func edit(
        _ page: [UInt8], _ definitions: [InsertionDefinition] = markers, contentType: String = "text/html; charset=utf-8",
        mode: PolicyMode = .leave, nonce: String = "", policies: [String] = [], slices: [Int] = []
    ) -> [UInt8] {
        let insertions = PageInsertions(definitions, mode: mode)
        let type = Array(contentType.utf8)
        let editor = PageEditor(
            insertions, contentType: type.span, nonce: Array(nonce.utf8), hasPolicy: !policies.isEmpty,
            policies: policies.map { (SecurityPolicy(Array($0.utf8)), !nonce.isEmpty) })
        let out = ByteBuffer()
        var start = 0
        for end in slices + [page.count] where end > start {
            let slice = Array(page[start..<end])
            editor.append(slice.span, to: out)
            start = end
        }
        editor.finish(to: out)
        return bytes(out)
    }

    static func edit(_ page: String, _ definitions: [InsertionDefinition] = markers, slices: [Int] = []) -> String {
        String(decoding: edit(Array(page.utf8), definitions, slices: slices), as: UTF8.self)
    }

    static func bytes(_ buffer: ByteBuffer) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in buffer.span.indices { bytes.append(buffer[index]) }
        return bytes
    }

    /// Pages with where the four markers belong.
    static let samples: [String] = [
        "<!doctype html><html><head>[HS]<title>t</title>[HE]</head><body class=x>[BS]<p>y</p>[BE]</body></html>",
        "<!DOCTYPE html>\n<html lang=en>\n<HEAD>[HS]\n<meta charset=utf-8>\n[HE]</HEAD>\n<BODY>[BS]\n<p>y\n[BE]</BODY>\n</HTML>\n",
        // Tags that are missing.
        "[HS][HE][BS]<p>x</p>[BE]", "[HS][HE][BS]plain[BE]", "[HS]<title>t</title>[HE][BS]<p>x[BE]", "[HS][HE]<body>[BS]x[BE]",
        "<html>[HS]<link rel=x>[HE]<body>[BS]x[BE]</html>", "<head>[HS]<base>[HE][BS]x[BE]", "<head>[HS][HE]</head>[BS]x[BE]",
        "[HS]<title>x</title>[HE]</head>[BS]<div>y</div>[BE]</html>", "<html><head>[HS][HE]</head>[BS][BE]</body></html>",
        "  \n<!-- c -->[HS][HE][BS]a < b[BE]", "[HS][HE][BS]<3[BE]", "[HS][HE][BS][BE]<", "[HS][HE][BS]x[BE]<",
        "<html>[HS][HE][BS]x</p>y[BE]</html>z",
        "<head>[HS]<meta name=a>[HE]<body>[BS]<head>x</head>[BE]</body>", "[HS][HE][BS]</br>[BE]",
        "[HS]<style>p{}</style>[HE]<body>[BS]x[BE]", "<head>[HS]<noscript><body></noscript>[HE]<body>[BS]x[BE]",
        // What only looks like markup.
        "<head>[HS]<!-- </head><body> -->[HE]</head><body>[BS]<!-- </body> --->x[BE]</body>",
        "<head>[HS]<script>'</head><body></body>'</script>[HE]</head><body>[BS]x[BE]</body>",
        "<head>[HS]<script>a<!--<script></script></body>--></script>[HE]</head><body>[BS]x[BE]</body>",
        "<head>[HS]<script>a<!--</script>[HE]</head><body>[BS]x[BE]</body>",
        "<head>[HS]<script><!--<script>x--></script>[HE]</head><body>[BS]x[BE]</body>",
        "<head>[HS]<style></body></style>[HE]</head><body>[BS]<textarea></body></textarea>[BE]</body>",
        "<head>[HS]<title></head><body></title >[HE]</head><body>[BS]<xmp></body></xmp/>[BE]</body>",
        "<body>[BS]<iframe></body></iframe><noembed></body></noembed><p title='</body>' x=\">\" y=</body>[BE]</body>".withHead,
        "<body>[BS]<p a=b/></p><p =></p><p/a/=\"</body>\"></p>[BE]</body>".withHead,
        "<body>[BS]<template><body></body></template>x[BE]</body>".withHead,
        "<head>[HS]<template>text<p></template>[HE]</head><body>[BS]<template><template></template></body></template>[BE]</body>",
        "<body>[BS]<!--></body-->[BE]</body>".withHead, "<body>[BS]<!---><p>[BE]</body>".withHead,
        "<body>[BS]<!-- --!><p>[BE]</body>".withHead, "<body>[BS]<!-- <!-- --><p>[BE]</body>".withHead,
        "<body>[BS]<!x </body><? </body></ </body></>[BE]</body>".withHead,
        "<body>[BS]<svg><![CDATA[ </body> ]]]></svg><![CDATA[ <p> ]]>[BE]</body>".withHead,
        "<body>[BS]<svg><style/><script href=x /><title/><g/></svg><p>[BE]</body>".withHead,
        "<body>[BS]<script type=module src=a></script\t><p>[BE]</body>".withHead,
        "<bodyguard></bodyguard>".inBody, "<b></bo></bodyx></body-x>".inBody, "<div></div></htmlx></html-x>".inBody,
        // What comes behind the end of the body stays there.
        "<body>[BS]x[BE]</body><p>y</p></body></html>".withHead, "<body>[BS]x[BE]</body\n></html>".withHead,
        // Frames have no body.
        "<html><head>[HS]<title>f</title>[HE]</head><frameset><frame src=a></frameset></html>",
        // Nothing that can be seen of a page, or an end where insertion would be read as part of something.
        "", " \n ", "<!doctype html>", "<!-- c -->", "<head>[HS]<title>x", "<head>[HS]<script>x", "<body>[BS]x<!-- y".withHead,
        "<body>[BS]<plaintext></body>".withHead, "<body>[BS]x<p title=\"".withHead, "<body>[BS]<script><!--</body>".withHead,
    ]
}

extension String {
    /// Behind a head that is not there.
    fileprivate var withHead: String { "[HS][HE]" + self }
    fileprivate var inBody: String { "[HS][HE][BS]" + self + "[BE]" }

    var withoutMarkers: String {
        var text = self
        for marker in InsertionPoint.allCases.map(EditedPages.marker) {
            text = text.split(separator: marker, omittingEmptySubsequences: false).joined()
        }
        return text
    }
}
