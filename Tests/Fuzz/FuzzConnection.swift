import EventLoop

@testable import APNs

/// The HTTP/2 side of a connection to an APNs that answers whatever it is told to.
enum FuzzConnection {
    private static let pushCount = 3

    /// - Parameter bytes: what the peer sends; the first says in pieces of what size it comes.
    static func receive(_ bytes: [UInt8]) {
        guard let size = bytes.first, let session = HTTP2Session() else { return }
        var completions = [Int](repeating: 0, count: pushCount)
        var limit = StreamLimit(ceiling: 1000)
        for number in 0..<pushCount {
            let push = PendingPush(.push(request(number)), deadline: .now, counter: RequestCounter()) { _ in
                completions[number] += 1
            }
            push.prepare(submittedAt: .now, token: ProviderTokenCache.Token(authorization: Array("bearer x".utf8)))
            _ = session.submit(push, authority: Array("a".utf8), authorization: Array("bearer x".utf8))
        }
        var rest = bytes.dropFirst()
        var failure: String?
        while !rest.isEmpty, failure == nil, !session.isOver {
            while let output = session.nextOutput() { _ = output.count }
            failure = Array(rest.prefix(Int(size) + 1)).withUnsafeBufferPointer { session.receive($0) }
            rest = rest.dropFirst(Int(size) + 1)
            handle(session.takeEvents(), session, &limit)
        }
        while let output = session.nextOutput() { _ = output.count }
        handle(session.takeEvents(), session, &limit)
        for push in session.pushes.values {
            push.complete(.unanswered(APNsFailure(.connectionLost), mayHaveBeenProcessed: push.isSentWhole))
        }
        guard completions.allSatisfy({ $0 == 1 }) else { fatalError("a push was not answered exactly once") }
    }

    private static func handle(_ events: [HTTP2Session.Event], _ session: HTTP2Session, _ limit: inout StreamLimit) {
        for event in events {
            switch event {
            case .settings(let maximumStreams):
                limit.settingsReceived(maximumStreams: maximumStreams, lastStream: session.lastStream)
            case .goAway(let code, let debugData):
                _ = (HTTP2Session.name(of: code), APNsResponse.reason(inDebugData: debugData))
            case .ended(let push, _):
                let failure = APNsOutcome.unanswered(APNsFailure(.streamReset), mayHaveBeenProcessed: push.isSentWhole)
                push.complete(push.response.map(APNsOutcome.responded) ?? failure)
            }
        }
    }

    private static func request(_ number: Int) -> APNsRequest {
        APNsRequest(
            deviceToken: String(repeating: "a", count: 64),
            topic: "com.ex.app",
            pushType: .alert,
            priority: 10,
            expiration: 0,
            apnsID: "123e4567-e89b-12d3-a456-00000000000\(number)",
            collapseID: nil,
            payload: Array(#"{"aps":{"alert":"a"}}"#.utf8),
        )
    }
}
