internal import Codings
internal import HTTP
internal import Policy

/// The fields of an answer from a file.
struct FileHead {
    let types: MediaTypes
    let type: Int
    let plan: ServePlan
    /// As the file's content is encoded, or will be while it is sent.
    private(set) var coding: ContentCoding?
    private(set) var isEncodedOnTheFly = false
    let size: UInt64
    let modifiedNanoseconds: Int64
    /// Seconds since the epoch, for Last-Modified: RFC 9110 section 8.8.2.1, never after the answer itself.
    let modified: Int
    let now: Int

    init(
        types: MediaTypes, type: Int, plan: ServePlan, coding: ContentCoding?, size: UInt64, modifiedNanoseconds: Int64, now: Int
    ) {
        self.types = types
        self.type = type
        self.plan = plan
        self.coding = coding
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        modified = max(0, min(Int(modifiedNanoseconds / 1_000_000_000), now))
        self.now = now
    }

    mutating func encode(_ coding: ContentCoding) {
        self.coding = coding
        isEncodedOnTheFly = true
    }

    /// Time and size, and the coding, since each is a representation of its own (RFC 9110 section 8.8.3.3). Content that is
    /// encoded anew for each answer need not be the same octets each time: weak.
    func writeEntityTag(to out: ByteBuffer) {
        out.clear()
        if isEncodedOnTheFly { out.append("W/") }
        out.append(UInt8(ascii: "\""))
        out.append(hexadecimal: UInt(bitPattern: Int(modifiedNanoseconds)))
        out.append(UInt8(ascii: "-"))
        out.append(hexadecimal: UInt(size))
        if let coding {
            out.append(UInt8(ascii: "-"))
            out.append(coding.token)
        }
        out.append(UInt8(ascii: "\""))
    }

    /// Appends a whole head; `parts` are those of a 206.
    func write(
        _ status: Int, entityTag: ByteBuffer, parts: [ByteRanges.Part], boundary: ByteBuffer, to out: ByteBuffer
    ) {
        out.append("HTTP/1.1 ")
        out.append(decimal: status)
        out.append(" ")
        out.append(ReasonPhrase.of(status))
        out.append("\r\n")
        switch status {
        case 200: writeContent(length: isEncodedOnTheFly ? nil : size, to: out)
        case 206: writePartial(parts, boundary, to: out)
        case 416:
            out.append("Content-Range: bytes */")
            out.append(decimal: UInt(size))
            out.append("\r\nContent-Length: 0\r\n")
        case 412: out.append("Content-Length: 0\r\n")
        default: break
        }
        writeMetadata(entityTag, to: out)
        out.append("\r\n")
    }

    private func writeContent(length: UInt64?, to out: ByteBuffer) {
        out.append("Content-Type: ")
        Self.writeType(types, type, charset: plan.charset, to: out)
        out.append("\r\n")
        if let length {
            out.append("Content-Length: ")
            out.append(decimal: UInt(length))
        } else {
            out.append("Transfer-Encoding: chunked")
        }
        out.append("\r\n")
        writeCoding(to: out)
    }

    private func writeCoding(to out: ByteBuffer) {
        guard let coding else { return }
        out.append("Content-Encoding: ")
        out.append(coding.token)
        out.append("\r\n")
    }

    /// RFC 9110 section 15.3.7: one part has its range in the head, several have a head each.
    private func writePartial(_ parts: [ByteRanges.Part], _ boundary: ByteBuffer, to out: ByteBuffer) {
        if boundary.isEmpty, let part = parts.first {
            writeContent(length: part.upperBound - part.lowerBound, to: out)
            Self.writeRange(part, of: size, to: out)
            return
        }
        out.append("Content-Type: multipart/byteranges; boundary=")
        out.append(boundary.span)
        out.append("\r\nContent-Length: ")
        out.append(decimal: UInt(multipartLength(parts, boundary)))
        out.append("\r\n")
        writeCoding(to: out)
    }

    private func multipartLength(_ parts: [ByteRanges.Part], _ boundary: ByteBuffer) -> UInt64 {
        let text = ByteBuffer(capacity: 256)
        var length: UInt64 = 0
        for part in parts {
            Self.writePartHead(part, of: size, types: types, type, boundary, to: text)
            length += part.upperBound - part.lowerBound
        }
        Self.writeLastBoundary(boundary, to: text)
        return length + UInt64(text.count)
    }

    private func writeMetadata(_ entityTag: ByteBuffer, to out: ByteBuffer) {
        out.append("Last-Modified: ")
        HTTPDate.append(unixSeconds: modified, to: out)
        out.append("\r\nETag: ")
        out.append(entityTag.span)
        out.append("\r\n")
        if !isEncodedOnTheFly { out.append("Accept-Ranges: bytes\r\n") }
        if !plan.cacheControl.isEmpty {
            out.append("Cache-Control: ")
            out.append(plan.cacheControl)
            out.append("\r\n")
        }
        let traits = types.traits(type)
        if plan.definition.compresses, traits.contains(.compressible) { out.append("Vary: Accept-Encoding\r\n") }
        switch plan.definition.crossOrigin {
        case .none: break
        case .auto: if traits.contains(.crossOrigin) { out.append("Access-Control-Allow-Origin: *\r\n") }
        case .all: out.append("Access-Control-Allow-Origin: *\r\n")
        }
    }

    // MARK: Parts

    static func writePartHead(
        _ part: ByteRanges.Part, of size: UInt64, types: MediaTypes, _ type: Int, _ boundary: ByteBuffer, to out: ByteBuffer
    ) {
        out.append("\r\n--")
        out.append(boundary.span)
        out.append("\r\nContent-Type: ")
        writeType(types, type, charset: [], to: out)
        out.append("\r\n")
        writeRange(part, of: size, to: out)
        out.append("\r\n")
    }

    static func writeLastBoundary(_ boundary: ByteBuffer, to out: ByteBuffer) {
        out.append("\r\n--")
        out.append(boundary.span)
        out.append("--\r\n")
    }

    private static func writeRange(_ part: ByteRanges.Part, of size: UInt64, to out: ByteBuffer) {
        out.append("Content-Range: bytes ")
        out.append(decimal: UInt(part.lowerBound))
        out.append("-")
        out.append(decimal: UInt(part.upperBound - 1))
        out.append("/")
        out.append(decimal: UInt(size))
        out.append("\r\n")
    }

    private static func writeType(_ types: MediaTypes, _ type: Int, charset: [UInt8], to out: ByteBuffer) {
        out.append(types.name(type))
        guard !charset.isEmpty, types.traits(type).contains(.text) else { return }
        out.append("; charset=")
        out.append(charset)
    }
}
