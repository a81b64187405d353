internal import HTTP

/// A request for programs and terminals: as JSON, or as lines that read like a diff.
enum DemoListing {
    // MARK: Text

    /// `+` is what was added on the way, `-` what was taken away, `!` what could not be added; who did it stands behind.
    static func appendText(_ view: DemoRequestView, contentLength: UInt64, to out: ByteBuffer) {
        out.append("  ")
        ShownText.append(view.method.span, to: out, as: .terminal)
        out.append(" ")
        ShownText.append(view.target.span, to: out, as: .terminal)
        out.append(" HTTP/1.1\n")
        for field in view.fields { append(field, to: out) }
        for removal in view.removed { append(removal, mark: "- ", to: out) }
        for removal in view.withheld { append(removal, mark: "! ", to: out) }
        if contentLength > 0 {
            out.append("\n  ")
            out.append(decimal: UInt(contentLength))
            out.append(" bytes of content\n")
        }
        out.append(
            """

            This is the request as it reached the demo origin; + was added by authproxy, - was removed.
            More: /headers (JSON)  /redirect  /events  /upload  /websocket  /bytes/1000000  /status/503  /tracker.js

            """)
    }

    private static func append(_ removal: DemoRemoval, mark: StaticString, to out: ByteBuffer) {
        out.append(mark)
        ShownText.append(removal.name.span, to: out, as: .terminal)
        out.append("  (")
        ShownText.append(removal.reason, to: out, as: .terminal)
        out.append(")\n")
    }

    private static func append(_ field: DemoField, to out: ByteBuffer) {
        out.append(field.origin == .client ? "  " : "+ ")
        ShownText.append(field.name.span, to: out, as: .terminal)
        out.append(": ")
        ShownText.append(field.value.span, to: out, as: .terminal)
        switch field.origin {
        case .client: break
        case .rule(let name, let verb):
            out.append("  (rule ")
            ShownText.append(name, to: out, as: .terminal)
            out.append(", ")
            ShownText.append(verb, to: out, as: .terminal)
            out.append(")")
        case .credential(let name):
            out.append("  (credential ")
            ShownText.append(name, to: out, as: .terminal)
            out.append(")")
        case .authproxy: out.append("  (authproxy)")
        }
        out.append("\n")
    }

    // MARK: JSON

    static func appendJSON(_ view: DemoRequestView, contentLength: UInt64, to out: ByteBuffer) {
        out.append("{\n  \"method\": ")
        quote(view.method, to: out)
        out.append(",\n  \"target\": ")
        quote(view.target, to: out)
        out.append(",\n  \"content_length\": ")
        out.append(decimal: UInt(contentLength))
        out.append(",\n  \"fields\": [")
        for (index, field) in view.fields.enumerated() {
            out.append(index == 0 ? "\n    " : ",\n    ")
            appendObject(field, to: out)
        }
        out.append(view.fields.isEmpty ? "]" : "\n  ]")
        appendList("removed", view.removed, to: out)
        appendList("withheld", view.withheld, to: out)
        out.append("\n}\n")
    }

    private static func appendList(_ key: StaticString, _ removals: [DemoRemoval], to out: ByteBuffer) {
        out.append(",\n  \"")
        out.append(key)
        out.append("\": [")
        for (index, removal) in removals.enumerated() {
            out.append(index == 0 ? "\n    {\"name\": " : ",\n    {\"name\": ")
            quote(removal.name, to: out)
            out.append(", \"why\": ")
            quote(Array(removal.reason.utf8), to: out)
            out.append("}")
        }
        out.append(removals.isEmpty ? "]" : "\n  ]")
    }

    private static func appendObject(_ field: DemoField, to out: ByteBuffer) {
        out.append("{\"name\": ")
        quote(field.name, to: out)
        out.append(", \"value\": ")
        quote(field.value, to: out)
        out.append(", \"from\": ")
        switch field.origin {
        case .client: out.append("\"client\"}")
        case .authproxy: out.append("\"authproxy\"}")
        case .rule(let name, let verb):
            out.append("\"rule\", \"rule\": ")
            quote(Array(name.utf8), to: out)
            out.append(", \"verb\": ")
            quote(Array(verb.utf8), to: out)
            out.append("}")
        case .credential(let name):
            out.append("\"credential\", \"credential\": ")
            quote(Array(name.utf8), to: out)
            out.append("}")
        }
    }

    private static func quote(_ octets: [UInt8], to out: ByteBuffer) {
        out.append("\"")
        ShownText.append(octets.span, to: out, as: .json)
        out.append("\"")
    }
}
