internal import CLinux
internal import Glibc

/// The names in a folder, to be found without regard to the case of ASCII letters: a hash table over one run of bytes.
final class FolderListing {
    let modifiedNanoseconds: Int64
    /// Each name with a NUL behind it.
    private var names: [UInt8] = []
    /// Where names begin, plus one; 0 is free. As many as a power of two.
    private var slots: [UInt32]

    /// Names beyond this are not found: no folder may take all memory.
    private static let mostNames = 1_000_000

    /// Reads the folder that the descriptor stands for, and closes it.
    ///
    /// SAFETY: `readdir` gives entries that are valid until the next call on the same stream; a name ends with a NUL.
    init(_ descriptor: Int32, _ identity: FileIdentity) {
        modifiedNanoseconds = identity.modifiedNanoseconds
        slots = []
        guard let stream = unsafe fdopendir(descriptor) else {
            SystemCalls.close(descriptor)
            return
        }
        defer { unsafe closedir(stream) }
        var starts: [UInt32] = []
        while starts.count < Self.mostNames, let entry = unsafe readdir(stream) {
            unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                let length = unsafe bytes.firstIndex(of: 0) ?? bytes.count
                starts.append(UInt32(names.count))
                unsafe names.append(contentsOf: bytes[..<length])
                names.append(0)
            }
        }
        // Of names that differ by case alone the first in the order of bytes is found, whatever the order of the folder.
        starts.sort { precedes($0, $1) }
        var size = 16
        while size < starts.count * 2 { size *= 2 }
        slots = Array(repeating: 0, count: size)
        for start in starts.reversed() { insert(start) }
    }

    /// The name as the folder has it; nil when there is none.
    func name(like name: Span<UInt8>) -> [UInt8]? {
        if slots.isEmpty { return nil }
        var slot = Self.hash(name) & (slots.count - 1)
        var found: UInt32?
        while slots[slot] != 0 {
            if equals(Int(slots[slot]) - 1, name) { found = slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        guard let found else { return nil }
        let start = Int(found) - 1
        return Array(names[start..<start + name.count])
    }

    private func insert(_ start: UInt32) {
        var end = Int(start)
        while names[end] != 0 { end += 1 }
        let bytes = names
        let name = bytes.span.extracting(Int(start)..<end)
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = start + 1
    }

    private func equals(_ start: Int, _ name: Span<UInt8>) -> Bool {
        for index in 0..<name.count where Self.lower(names[start + index]) != Self.lower(name[index]) || name[index] == 0 {
            return false
        }
        return names[start + name.count] == 0
    }

    private func precedes(_ one: UInt32, _ other: UInt32) -> Bool {
        var offset = 0
        while true {
            let first = names[Int(one) + offset]
            let second = names[Int(other) + offset]
            if first != second { return first < second }
            if first == 0 { return false }
            offset += 1
        }
    }

    private static func hash(_ name: Span<UInt8>) -> Int {
        var state: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in 0..<name.count { state = (state ^ UInt64(lower(name[index]))) &* 0x0000_0100_0000_01b3 }
        return Int(truncatingIfNeeded: state ^ state >> 29)
    }

    private static func lower(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
}
