public import HTTP

/// The answer to a blocked request: empty, and of the type that was asked for, so that the page around it goes on
/// working.
public struct BlockedAnswer: Sendable, Equatable {
    public enum Kind: Sendable, CaseIterable {
        case css, javascript, html, text, xml, svg, json, gif, png
        /// Nothing is known of what was expected.
        case unknown
    }

    public let status: Int
    public let kind: Kind

    /// `status` is that of the configuration, nil for the default: 200, or 204 where there is no type to answer with.
    public init(to request: CanonicalRequest, status: Int? = nil) {
        kind = BlockedAnswer.kind(for: request)
        self.status = status ?? (kind == .unknown ? 204 : 200)
    }

    /// RFC 9110 sections 6.4.1, 15.3.6 and 15.4.5: these have no content, whatever was configured.
    public var hasContent: Bool { status >= 200 && status != 204 && status != 205 && status != 304 }

    /// nil when there is no content to have a type.
    public var contentType: StaticString? {
        guard hasContent else { return nil }
        return switch kind {
        case .css: "text/css; charset=utf-8"
        case .javascript: "text/javascript; charset=utf-8"
        case .html: "text/html; charset=utf-8"
        case .text: "text/plain; charset=utf-8"
        case .xml: "application/xml"
        case .svg: "image/svg+xml"
        case .json: "application/json"
        case .gif: "image/gif"
        case .png: "image/png"
        case .unknown: nil
        }
    }

    public var contentLength: Int { hasContent ? content.count : 0 }

    public func appendContent(to out: ByteBuffer) {
        if hasContent { out.append(content) }
    }

    /// The smallest valid document of each type; nothing where nothing is valid.
    private var content: [UInt8] {
        switch kind {
        case .css, .javascript, .text, .unknown: []
        case .html: BlockedAnswer.html
        case .xml: BlockedAnswer.xml
        case .svg: BlockedAnswer.svg
        case .json: BlockedAnswer.json
        case .gif: BlockedAnswer.gif
        case .png: BlockedAnswer.png
        }
    }

    private static let html = Array("<!doctype html><title>Blocked</title>".utf8)
    private static let xml = Array("<blocked/>".utf8)
    private static let svg = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)
    private static let json = Array("{}".utf8)

    /// One transparent pixel each.
    private static let gif: [UInt8] = [
        0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0x01, 0x00, 0x01, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x21,
        0xf9, 0x04, 0x01, 0x00, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x02,
        0x01, 0x44,
        0x00, 0x3b,
    ]
    private static let png: [UInt8] = [
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
        0x00, 0x01,
        0x00, 0x00, 0x00, 0x01, 0x08, 0x04, 0x00, 0x00, 0x00, 0xb5, 0x1c, 0x0c, 0x02, 0x00, 0x00, 0x00, 0x0b, 0x49,
        0x44, 0x41,
        0x54, 0x78, 0xda, 0x63, 0x60, 0x60, 0x00, 0x00, 0x00, 0x03, 0x00, 0x01, 0x2b, 0x09, 0x4d, 0x84, 0x00, 0x00,
        0x00, 0x00,
        0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ]
}
