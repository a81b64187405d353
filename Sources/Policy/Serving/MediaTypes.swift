internal import HTTP

/// Media types by a file name's extension: the system's, and a table of our own for what it does not have.
public final class MediaTypes {
    /// What is done with content of a type.
    public struct Traits: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Characters, whose charset is to be told.
        public static let text = Traits(rawValue: 1)
        /// Becomes much smaller when it is encoded.
        public static let compressible = Traits(rawValue: 2)
        /// What browsers fetch by the rules of other origins even for a page's own use: fonts, modules, style sheets.
        public static let crossOrigin = Traits(rawValue: 4)
    }

    private let bytes = ByteBuffer(capacity: 4096)
    private var types: [(name: ByteRange, traits: Traits)] = []
    private var extensions: [(name: ByteRange, type: Int32)] = []
    /// Indexes into `extensions`, or -1; as many as a power of two, half of them free at least.
    private var slots: [Int32] = Array(repeating: -1, count: 4096)

    /// `system` is the text of a file in the format of `/etc/mime.types`: lines of a type and its extensions, `#` comments. Its
    /// first word on an extension counts, and before ours.
    public init(system: [UInt8]) {
        add(type: Array("application/octet-stream".utf8).span)
        read(system.span)
        read(Array(MediaTypes.builtIn.utf8).span)
    }

    /// The type of a file of that name, for ``name(_:)`` and ``traits(_:)``; `application/octet-stream` where none is known.
    public func type(of name: Span<UInt8>) -> Int {
        var dot = name.count - 1
        while dot > 0 && name[dot] != UInt8(ascii: ".") { dot -= 1 }
        guard dot > 0, name.count - dot <= Self.longestExtension else { return 0 }
        return find(name.extracting(dot + 1..<name.count)).map { Int(extensions[$0].type) } ?? 0
    }

    @_lifetime(immortal)
    public func name(_ type: Int) -> Span<UInt8> { bytes.span(types[type].name) }

    public func traits(_ type: Int) -> Traits { types[type].traits }

    /// A type as Content-Type has it, with the charset where one is to be told; not for the data path.
    public func contentType(of name: String, charset: String?) -> String {
        let type = type(of: Array(name.utf8).span)
        let text = RuleBytes.text(self.name(type))
        guard let charset, traits(type).contains(.text) else { return text }
        return "\(text); charset=\(charset)"
    }

    // MARK: Reading

    private static let longestExtension = 32

    private func read(_ text: Span<UInt8>) {
        var position = 0
        while position < text.count {
            var end = position
            while end < text.count && text[end] != UInt8(ascii: "\n") { end += 1 }
            readLine(text.extracting(position..<end))
            position = end + 1
        }
    }

    private func readLine(_ line: Span<UInt8>) {
        var words = Words()
        guard let name = words.next(in: line), line[name.lowerBound] != UInt8(ascii: "#"),
            RuleBytes.isFieldValue(line.extracting(name)), line.extracting(name).count < 128
        else { return }
        var type: Int?
        while let word = words.next(in: line), line[word.lowerBound] != UInt8(ascii: "#") {
            let given = line.extracting(word)
            guard given.count < Self.longestExtension, find(given) == nil, extensions.count < slots.count / 2 else { continue }
            let index = type ?? add(type: line.extracting(name))
            type = index
            add(extension: given, type: index)
        }
    }

    @discardableResult
    private func add(type name: Span<UInt8>) -> Int {
        let start = bytes.count
        bytes.append(name)
        types.append((ByteRange(start, name.count), Self.traits(of: name)))
        return types.count - 1
    }

    private func add(extension name: Span<UInt8>, type: Int) {
        let start = bytes.count
        for index in 0..<name.count { bytes.append(RuleBytes.lower(name[index])) }
        var slot = hash(name)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(extensions.count)
        extensions.append((ByteRange(start, name.count), Int32(type)))
    }

    private func find(_ name: Span<UInt8>) -> Int? {
        var slot = hash(name)
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if RuleBytes.equal(name, ignoringCase: bytes.span(extensions[index].name)) { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private func hash(_ name: Span<UInt8>) -> Int {
        var state = KeyHash.start
        for index in 0..<name.count { state = (state ^ UInt64(RuleBytes.lower(name[index]))) &* 0x0000_0100_0000_01b3 }
        return Int(truncatingIfNeeded: state ^ state >> 29) & (slots.count - 1)
    }

    // MARK: Traits

    private static func traits(of name: Span<UInt8>) -> Traits {
        let text = RuleBytes.text(name)
        if isScript(text) || text == "text/css" { return [.text, .compressible, .crossOrigin] }
        if text.hasPrefix("text/") { return [.text, .compressible] }
        if text == "application/wasm" { return [.compressible, .crossOrigin] }
        if text.hasPrefix("font/") || text.hasPrefix("application/font-") || text == "application/vnd.ms-fontobject" {
            // woff and woff2 are compressed already.
            return text.contains("woff") ? [.crossOrigin] : [.compressible, .crossOrigin]
        }
        let shrinks =
            text.hasSuffix("+json") || text.hasSuffix("+xml") || text.hasSuffix("/json") || text.hasSuffix("/xml")
            || text == "image/bmp" || text.hasSuffix("icon") || text == "application/rtf" || text == "application/toml"
            || text == "application/yaml" || text == "application/x-sh"
        return shrinks ? [.compressible] : []
    }

    private static func isScript(_ text: String) -> Bool {
        text == "text/javascript" || text == "application/javascript" || text == "application/x-javascript"
    }
}

/// Walks words between blanks.
private struct Words {
    private var position = 0

    mutating func next(in line: Span<UInt8>) -> Range<Int>? {
        while position < line.count && isBlank(line[position]) { position += 1 }
        let start = position
        while position < line.count && !isBlank(line[position]) { position += 1 }
        return start < position ? start..<position : nil
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }
}
