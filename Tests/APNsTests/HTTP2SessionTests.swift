import EventLoop
import Testing

@testable import APNs

@Suite(.timeLimit(.minutes(5)))
struct HTTP2SessionTests {
    private static let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 0xE8]
    private static let goAway: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

    private static func output(of session: HTTP2Session) -> [UInt8] {
        var output: [UInt8] = []
        while let bytes = session.nextOutput() {
            output += bytes
        }
        return output
    }

    /// Streams that ended unprocessed.
    private static func refused(_ session: HTTP2Session) -> [Int32] {
        session.takeEvents().compactMap { event in
            if case .ended(let push, code: 7) = event { push.stream } else { nil }
        }
    }

    private static func submit(to session: HTTP2Session) -> PendingPush {
        let push = PendingPush(.push(Samples.request()), deadline: .now + .seconds(9), counter: RequestCounter()) { _ in
        }
        push.prepare(submittedAt: .now, token: ProviderTokenCache.Token(authorization: Array("bearer x".utf8)))
        let isSubmitted = session.submit(
            push,
            authority: Array("localhost".utf8),
            authorization: Array("bearer x".utf8)
        )
        #expect(isSubmitted)
        return push
    }

    @Test(
        "C19: a GOAWAY between the choice of a stream and its HEADERS: nothing is sent, the push counts as unprocessed"
    )
    func goAwayBeforeHeaders() throws {
        let session = try #require(HTTP2Session())
        _ = Self.output(of: session)
        #expect(Self.settings.withUnsafeBufferPointer { session.receive($0) } == nil)
        let (first, second) = (Self.submit(to: session), Self.submit(to: session))
        #expect(session.pushes.count == 2)

        #expect(Self.goAway.withUnsafeBufferPointer { session.receive($0) } == nil)
        let output = Self.output(of: session)
        #expect(Self.refused(session) == [first.stream, second.stream])
        #expect(session.pushes.isEmpty)
        #expect(!first.isSentWhole && !second.isSentWhole)
        // The acknowledgement of SETTINGS and nothing else: no frame of type HEADERS.
        #expect(output == [0, 0, 0, 4, 1, 0, 0, 0, 0])
    }
}
