import Testing

@testable import struct APNs.OpeningFrame

@Suite(.timeLimit(.minutes(5)))
struct OpeningFrameTests {
    private let reason = Array(#"{"reason":"Shutdown"}"#.utf8)

    private var goAway: [UInt8] {
        [0, 0, UInt8(8 + reason.count), 7, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2] + reason
    }

    @Test("C18: a GOAWAY is read whole, however it is cut")
    func goAwayInPieces() {
        for cut in 0..<goAway.count {
            var frame = OpeningFrame()
            let results = [frame.receive(goAway[..<cut]), frame.receive(goAway[cut...])]
            #expect(results == [.incomplete, .goAway(lastStream: 5, code: 2, debugData: reason)])
        }
    }

    @Test("SETTINGS go on to nghttp2 with all that came")
    func settings() {
        let bytes: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 1, 2, 3]
        var frame = OpeningFrame()
        let results = [frame.receive(bytes.prefix(5)), frame.receive(bytes.dropFirst(5))]
        #expect(results == [.incomplete, .usual(bytes)])
    }

    @Test("A GOAWAY of an impossible length is nghttp2's to refuse", arguments: [0, 7, 5000])
    func impossibleLength(_ length: Int) {
        let head = [0, UInt8(length >> 8), UInt8(length & 0xFF), 7, 0, 0, 0, 0, 0]
        var frame = OpeningFrame()
        let result = frame.receive(head)
        #expect(result == .usual(head))
    }
}
