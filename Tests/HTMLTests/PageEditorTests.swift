import HTTP
import Testing

@testable import HTML

struct PageEditorTests {
    @Test(arguments: EditedPages.samples)
    func insertsWhereTheParserOpensAndClosesHeadAndBody(sample: String) {
        #expect(EditedPages.edit(sample.withoutMarkers) == sample)
    }

    @Test(arguments: EditedPages.samples)
    func everySplitGivesTheSamePage(sample: String) {
        let page = sample.withoutMarkers
        let count = page.utf8.count
        #expect(EditedPages.edit(page, slices: Array(0..<count)) == sample, "byte for byte")
        for first in 0..<count {
            #expect(EditedPages.edit(page, slices: [first]) == sample, "split at \(first)")
            #expect(EditedPages.edit(page, slices: [first, min(first + 2, count)]) == sample, "split at \(first) and 2 on")
        }
    }

    @Test(arguments: EditedPages.samples)
    func sixteenBitPagesAreEditedInTheirOwnUnits(sample: String) {
        for isLittle in [true, false] {
            func encoded(_ text: String) -> [UInt8] {
                text.utf16.flatMap { unit -> [UInt8] in
                    let (low, high) = (UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8))
                    return isLittle ? [low, high] : [high, low]
                }
            }
            let page = encoded(sample.withoutMarkers)
            let type = "text/html; charset=utf-16\(isLittle ? "le" : "be")"
            #expect(EditedPages.edit(page, contentType: type) == encoded(sample))
            #expect(EditedPages.edit(page, contentType: type, slices: Array(0..<page.count)) == encoded(sample))
            // A mark at the front says it too, whatever the label.
            let mark: [UInt8] = isLittle ? [0xff, 0xfe] : [0xfe, 0xff]
            let marked = EditedPages.edit(mark + page, contentType: "text/html; charset=utf-8", slices: Array(0...page.count))
            #expect(marked == mark + encoded(sample))
        }
    }

    @Test func aPageOfAnyLengthIsHeldByNothing() {
        let insertions = PageInsertions(EditedPages.markers, mode: .leave)
        let type = Array("text/html".utf8)
        let editor = PageEditor(insertions, contentType: type.span, nonce: [], hasPolicy: false, policies: [])
        let slice = Array(String(repeating: "<p title='x'>text</p>", count: 3000).utf8)
        let out = ByteBuffer()
        for _ in 0..<20 {
            out.clear()
            editor.append(slice.span, to: out)
            #expect(out.count >= slice.count && out.count <= slice.count + 12)
        }
        // Nor is a tag that never ends, or a meta element that does not.
        for start in ["<", "<meta content='"] {
            let editor = PageEditor(insertions, contentType: type.span, nonce: [], hasPolicy: false, policies: [])
            let head = Array(start.utf8)
            out.clear()
            editor.append(head.span, to: out)
            let rest = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
            editor.append(rest.span, to: out)
            #expect(out.count >= rest.count)
        }
    }

    @Test func severalAtOnePointKeepTheirOrder() {
        let definitions = ["1", "2", "3"].map { EditedPages.definition(.bodyEnd, .html(Array($0.utf8))) }
        #expect(EditedPages.edit("<body>x</body>", definitions) == "<body>x123</body>")
    }

    // MARK: Charsets

    private static let accents = [
        EditedPages.definition(.bodyEnd, .html(Array("<p title=é>é😀<!--é--><script>'é😀'</script><style>é".utf8)))
    ]

    @Test(arguments: ["iso-8859-1", "windows-1252", "shift_jis", "gbk", "x-unknown"])
    func whatIsInsertedIsASCIIWhereTheCharsetIsNotUnicodes(label: String) {
        let edited = EditedPages.edit(
            Array("<body>".utf8) + [0xe9, 0x8f] + Array("</body>".utf8), Self.accents, contentType: "text/html;charset=\"\(label)\""
        )
        let inserted = #"<p title=&#xe9;>&#xe9;&#x1f600;<!--?--><script>'\u00e9\ud83d\ude00'</script><style>\0000e9 "#
        #expect(edited == Array("<body>".utf8) + [0xe9, 0x8f] + Array((inserted + "</body>").utf8))
    }

    @Test func ofUTF8ItIsTheTextItself() {
        let expected = Array("<body>x<p title=é>é😀<!--é--><script>'é😀'</script><style>é</body>".utf8)
        #expect(EditedPages.edit(Array("<body>x</body>".utf8), Self.accents) == expected)
        let marked = EditedPages.edit([0xef, 0xbb, 0xbf] + Array("<body>x</body>".utf8), Self.accents, contentType: "text/html")
        #expect(marked == [0xef, 0xbb, 0xbf] + expected)
    }

    @Test func aCharsetThatASCIIIsNoPartOfIsLeftAlone() {
        let page = Array("<body>\u{1b}$B<</body>\u{1b}(B</body>".utf8)
        #expect(EditedPages.edit(page, contentType: "text/html; charset=ISO-2022-JP") == page)
        let meta = Array("<head><meta charset=iso-2022-jp></head><body>x</body>".utf8)
        let expected = Array("<head>[HS]<meta charset=iso-2022-jp></head><body>x</body>".utf8)
        #expect(EditedPages.edit(meta, contentType: "text/html") == expected)
    }

    @Test func whatNamesTheCharsetIsNotPushedOutOfSight() {
        let css = EditedPages.definition(.headStart, .css([UInt8](repeating: UInt8(ascii: "a"), count: 2000)))
        let style = "<style>" + String(repeating: "a", count: 2000) + "</style>"
        func edit(_ page: String, _ type: String) -> String {
            let whole = EditedPages.edit(Array(page.utf8), [css], contentType: type)
            #expect(EditedPages.edit(Array(page.utf8), [css], contentType: type, slices: Array(0..<page.utf8.count)) == whole)
            return String(decoding: whole, as: UTF8.self)
        }
        for (before, after) in [
            ("<head>\n<meta charset=utf-8>", "<title>x</title>"),
            ("<meta http-equiv=content-type content='text/html; charset=x'>", ""),
        ] {
            #expect(edit(before + after, "text/html") == before + style + after)
        }
        #expect(edit("<head><meta charset=utf-8>", "text/html;charset=utf-8") == "<head>\(style)<meta charset=utf-8>")
        #expect(edit("<head><meta name=viewport>x", "text/html") == "<head>\(style)<meta name=viewport>x")
        #expect(edit("<head><title>x</title>", "text/html") == "<head>\(style)<title>x</title>")
        #expect(edit("<head>text", "text/html") == "<head>\(style)text")
    }

    @Test func withMorePoliciesThanAnyPageHasNothingIsInserted() {
        let insertion = EditedPages.definition(.bodyEnd, .html(Array("<i>".utf8)))
        let meta = "<meta http-equiv=content-security-policy content=\"img-src 'self'\">"
        let few = "<head>" + String(repeating: meta, count: 64) + "</head><body></body>"
        #expect(EditedPages.edit(few, [insertion]) == String(few.dropLast(7)) + "<i></body>")
        let many = "<head>" + String(repeating: meta, count: 65) + "</head><body></body>"
        #expect(EditedPages.edit(many, [insertion]) == many)
    }

    // MARK: What is inserted

    @Test func nothingInAScriptOrAStyleSheetEndsItsElement() {
        let script = EditedPages.definition(
            .bodyEnd, .javascript(Array("\u{feff}a='</script>';b='<!--<SCRIPT>';c=1</2".utf8)))
        #expect(EditedPages.edit("<body>", [script]) == #"<body><script>a='<\/script>';b='<!--\x3CSCRIPT>';c=1</2</script>"#)
        // What only looks like a tag is code.
        let code = "for(i=0;i<scripts.length;i++)a<script;r=/<\\/script>/;"
        let loop = EditedPages.definition(.bodyEnd, .javascript(Array(code.utf8)))
        #expect(EditedPages.edit("<body>", [loop]) == "<body><script>\(code)</script>")
        let style = EditedPages.definition(.bodyEnd, .css(Array("a{content:'</STYLE>'}".utf8)))
        #expect(EditedPages.edit("<body>", [style]) == #"<body><style>a{content:'<\/STYLE>'}</style>"#)
    }

    @Test func linksAreAttributes() {
        let links = [
            EditedPages.definition(.headEnd, .cssURL("/a.css?x=1&y=\"")), EditedPages.definition(.headEnd, .javascriptURL("/b.js")),
        ]
        #expect(
            EditedPages.edit("<head></head>", links)
                == #"<head><link rel="stylesheet" href="/a.css?x=1&amp;y=&quot;"><script src="/b.js"></script></head>"#)
    }
}
