internal import HTTP

/// The demo origin's page: a request as it arrived, where each header field came from, and things to try.
///
/// One document without outside resources; readable without script. Everything that came with the request is escaped, and the
/// policy of the response lets nothing run but what carries the nonce.
struct DemoPage {
    let view: DemoRequestView
    let contentLength: UInt64
    /// The page is what `/redirect` leads to.
    let isLanding: Bool
    /// Letters and digits only.
    let nonce: [UInt8]

    /// `Content-Security-Policy` with everything that the page needs and nothing else.
    static func appendPolicy(nonce: [UInt8], to out: ByteBuffer) {
        out.append("default-src 'none'; style-src 'nonce-")
        out.append(nonce)
        out.append("'; script-src 'nonce-")
        out.append(nonce)
        out.append("'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    }

    func append(to out: ByteBuffer) {
        out.append(
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>authproxy demo</title>
            <link rel="icon" href="data:,">
            <style nonce="
            """)
        out.append(nonce)
        out.append("\">\n")
        out.append(Self.style)
        out.append("</style>\n</head>\n<body data-base=\"")
        show(view.base, to: out)
        out.append("\">\n<main>\n")
        appendHeading(to: out)
        appendFields(to: out)
        appendTable(view.removed, id: "removed", title: "What the client sent and the origin did not see", to: out)
        appendTable(view.withheld, id: "withheld", title: "What was not added this time", to: out)
        appendTrials(to: out)
        appendAddresses(to: out)
        out.append("</main>\n<script nonce=\"")
        out.append(nonce)
        out.append("\">\n")
        out.append(Self.script)
        out.append("</script>\n</body>\n</html>\n")
    }

    // MARK: Heading

    private func appendHeading(to out: ByteBuffer) {
        out.append("<header>\n<p class=\"brand\">authproxy <span>demo origin</span></p>\n<h1><span class=\"method\">")
        show(view.method, to: out)
        out.append("</span> <bdi>")
        show(view.target, to: out)
        out.append("</bdi></h1>\n<p class=\"lead\">This is the request as it reached the origin behind authproxy. ")
        appendSummary(to: out)
        out.append("</p>\n")
        if contentLength > 0 {
            out.append("<p class=\"lead\">It came with ")
            out.append(decimal: UInt(contentLength))
            out.append(contentLength == 1 ? " byte of content.</p>\n" : " bytes of content.</p>\n")
        }
        if isLanding {
            out.append("<p class=\"note\" role=\"status\">You have landed: this is where <code>/redirect</code> leads.</p>\n")
        }
        out.append("</header>\n")
    }

    private func appendSummary(to out: ByteBuffer) {
        let injected = view.injectedCount
        out.append("<strong>")
        appendCount(injected, to: out)
        out.append(injected == 1 ? " was injected</strong>" : " were injected</strong>")
        out.append(view.removed.isEmpty ? ", nothing was removed. " : ", ")
        if !view.removed.isEmpty {
            out.append(decimal: view.removed.count)
            out.append(view.removed.count == 1 ? " was removed. " : " were removed. ")
        }
        out.append("Secrets are shown as where they come from, never as their values.")
    }

    private func appendCount(_ count: Int, to out: ByteBuffer) {
        if count == 0 { out.append("No") } else { out.append(decimal: count) }
        out.append(count == 1 ? " header field" : " header fields")
    }

    // MARK: Tables

    private func appendFields(to out: ByteBuffer) {
        out.append(
            """
            <section aria-labelledby="received">
            <h2 id="received">What the origin received</h2>
            <table role="table">
            <thead><tr role="row"><th role="columnheader">Name</th><th role="columnheader">Value</th><th role="columnheader">From</th></tr></thead>
            <tbody>

            """)
        for field in view.fields { appendRow(field, to: out) }
        out.append("</tbody>\n</table>\n</section>\n")
    }

    private func appendRow(_ field: DemoField, to out: ByteBuffer) {
        switch field.origin {
        case .client: out.append("<tr role=\"row\">")
        case .authproxy: out.append("<tr role=\"row\" class=\"own\">")
        case .rule, .credential: out.append("<tr role=\"row\" class=\"injected\">")
        }
        out.append("<th role=\"rowheader\" scope=\"row\">")
        show(field.name, to: out)
        out.append("</th><td role=\"cell\"><bdi>")
        show(field.value, to: out)
        out.append("</bdi></td><td role=\"cell\"><span class=\"from\">")
        switch field.origin {
        case .client: out.append("client")
        case .authproxy: out.append("authproxy")
        case .rule(let name, let verb):
            out.append("rule <b>")
            ShownText.append(name, to: out, as: .html)
            out.append("</b> · ")
            ShownText.append(verb, to: out, as: .html)
        case .credential(let name):
            out.append("credential <b>")
            ShownText.append(name, to: out, as: .html)
            out.append("</b>")
        }
        out.append("</span></td></tr>\n")
    }

    private func appendTable(_ removals: [DemoRemoval], id: StaticString, title: StaticString, to out: ByteBuffer) {
        if removals.isEmpty { return }
        out.append("<section aria-labelledby=\"")
        out.append(id)
        out.append("\">\n<h2 id=\"")
        out.append(id)
        out.append("\">")
        out.append(title)
        out.append(
            """
            </h2>
            <table role="table">
            <thead><tr role="row"><th role="columnheader">Name</th><th role="columnheader">Why</th></tr></thead>
            <tbody>

            """)
        for removal in removals {
            out.append("<tr role=\"row\" class=\"removed\"><th role=\"rowheader\" scope=\"row\"><del>")
            show(removal.name, to: out)
            out.append("</del></th><td role=\"cell\">")
            ShownText.append(removal.reason, to: out, as: .html)
            out.append("</td></tr>\n")
        }
        out.append("</tbody>\n</table>\n</section>\n")
    }

    // MARK: Things to try

    private func appendTrials(to out: ByteBuffer) {
        out.append("<section aria-labelledby=\"try\" id=\"trials\" hidden>\n<h2 id=\"try\">Try it</h2>\n<div class=\"cards\">\n")
        if let name = forgeableName {
            out.append("<article>\n<h3>Forgery</h3>\n<p>Sends <code>")
            show(name, to: out)
            out.append("</code> with a value of the browser's own.</p>\n<button type=\"button\" id=\"forge\" data-name=\"")
            show(name, to: out)
            out.append("\">Forge a header</button>\n<output id=\"forge-out\" aria-live=\"polite\"></output>\n</article>\n")
        }
        out.append(Self.trials)
        out.append("</div>\n</section>\n")
    }

    /// The first name that overrides what the client sends, and that script in a browser may send.
    private var forgeableName: [UInt8]? {
        view.fields.first { field in
            let name = field.name.span
            if HTTP1.equalsIgnoringCase(name, "host") || HTTP1.equalsIgnoringCase(name, "cookie") { return false }
            return switch field.origin {
            case .rule(_, let verb): verb == "set"
            case .credential: true
            case .client, .authproxy: false
            }
        }?.name
    }

    /// Works without script.
    private func appendAddresses(to out: ByteBuffer) {
        out.append("<footer>\n<p>Any address shows the request that arrives there. Others to open:")
        let paths: [StaticString] = ["/headers", "/redirect", "/events", "/bytes/1000000", "/status/503", "/tracker.js"]
        for path in paths {
            out.append("\n<a href=\"")
            show(view.base, to: out)
            out.append(path)
            out.append("\">")
            out.append(path)
            out.append("</a>")
        }
        out.append("\nIn a terminal, <code>curl</code> gets the same as text.</p>\n</footer>\n")
    }

    private func show(_ octets: [UInt8], to out: ByteBuffer) { ShownText.append(octets.span, to: out, as: .html) }
}
