import HTTP
import Testing

struct FrameWalkTests {
    private func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ length: Int) -> [UInt8] {
        [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags, 0x80, 0, 0, stream]
            + [UInt8](repeating: 9, count: length)
    }

    @Test(arguments: [1, 2, 5, 9, 10, 64, 1000])
    func headsAreFoundHoweverTheyAreCut(size: Int) {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let bytes = preface + frame(4, 0, 0, 12) + frame(4, 1, 0, 0) + frame(1, 5, 3, 300) + frame(0, 1, 3, 1)
        var walk = FrameWalk(hasPreface: true)
        var found: [FrameHead] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            var position = 0
            while let head = walk.next(in: piece.span, from: &position) { found.append(head) }
            #expect(position == piece.count)
        }
        #expect(
            found == [
                FrameHead(length: 12, type: 4, flags: 0, stream: 0), FrameHead(length: 0, type: 4, flags: 1, stream: 0),
                FrameHead(length: 300, type: 1, flags: 5, stream: 3), FrameHead(length: 1, type: 0, flags: 1, stream: 3),
            ])
    }

    @Test(arguments: [1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 1000])
    func whatAPriorityFrameDependsOnIsFoundHoweverItIsCut(size: Int) {
        func priority(_ stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
            [0, 0, UInt8(payload.count), 2, 0, 0, 0, 0, stream] + payload
        }
        let bytes =
            priority(5, [0x80, 0, 1, 5, 9]) + priority(7, [0, 0, 0, 7, 9]) + priority(7, [0, 0, 0, 7]) + frame(6, 0, 0, 8)
            + priority(9, [0, 0, 0, 0, 9])
        var walk = FrameWalk(hasPreface: false)
        var found: [FrameHead] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            var position = 0
            while let head = walk.next(in: piece.span, from: &position) { found.append(head) }
        }
        #expect(
            found == [
                FrameHead(length: 5, type: 2, flags: 0, stream: 5, dependency: 261),
                FrameHead(length: 5, type: 2, flags: 0, stream: 7, dependency: 7),
                FrameHead(length: 4, type: 2, flags: 0, stream: 7), FrameHead(length: 8, type: 6, flags: 0, stream: 0),
                FrameHead(length: 5, type: 2, flags: 0, stream: 9),
            ])
    }
}
