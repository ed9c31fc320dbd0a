import EventLoop
import Gateway
import Synchronization
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("Rate limits of the server API", .timeLimit(.minutes(5)))
struct RateLimitTests {
    private let backend = Backend()

    /// A clock that only the test moves.
    private final class Clock: Sendable {
        private let time = Mutex(MonotonicTime(nanoseconds: 0))
        func now() -> MonotonicTime { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
    }

    @discardableResult
    private func limit(_ limits: RateLimits) -> Clock {
        let clock = Clock()
        backend.gateway.app.rateLimiter = RateLimiter(limits) { clock.now() }
        return clock
    }

    /// `ErrorCode`, `ErrorInfo` and the header Retry-After.
    private func post(
        _ path: String,
        _ body: String,
        query: String = Backend.query,
    ) async throws -> (code: Int64?, info: String, retryAfter: String?) {
        let response = await backend.respond(path, body, query: query)
        #expect(response.status == 200)
        let answer = try JSONDocument(parsing: response.body).root
        let retryAfter = response.headers.first { $0.name == "Retry-After" }?.value
        return (answer["ErrorCode"]?.integer, answer["ErrorInfo"]?.string ?? "", retryAfter)
    }

    @Test(
        "requests over the limit of the app or the caller: 60007, and nothing is asked of the gateway",
        arguments: [
            (RateLimits(requestsPerSecond: 2), "(requests-per-second)"),
            (RateLimits(callerRequestsPerSecond: 2), "(caller-requests-per-second)"),
        ]
    )
    func requests(limits: RateLimits, name: String) async throws {
        let clock = limit(limits)
        #expect(try await post("openim/sendmsg", ValidRequest.single).code == 0)
        #expect(try await post("im_open_login_svc/account_import", #"{"UserID":"a"}"#).code == 0)
        for path in ["openim/sendmsg", "openim/batchsendmsg", "im_open_login_svc/account_check"] {
            let refused = try await post(path, "not even JSON")
            #expect(refused.code == 60007)
            #expect(refused.info.hasSuffix(name), "\(refused.info)")
            #expect(refused.retryAfter == "1")
        }
        #expect(backend.gateway.orders.count == 1)
        clock.advance(by: .milliseconds(500))
        #expect(try await post("openim/sendmsg", ValidRequest.single).code == 0)
    }

    @Test("a stranger takes nothing from the app's limit")
    func strangersDoNotCount() async throws {
        limit(RateLimits(requestsPerSecond: 1))
        for query in ["sdkappid=\(InMemoryGateway.sdkAppID)&identifier=administrator&usersig=eJw", "", Self.ofAlice] {
            #expect(try await post("openim/sendmsg", ValidRequest.single, query: query).code != 60007)
        }
        #expect(try await post("openim/nothing", "{}").code == 60009)
        #expect(try await post("openim/sendmsg", ValidRequest.single).code == 0)
    }

    @Test("recipients over the limit: 90057 on batchsendmsg, 60007 on timpush/batch; sendmsg goes on")
    func recipients() async throws {
        let clock = limit(RateLimits(batchRecipientsPerMinute: 5))
        backend.gateway.app.requiresImportedAccounts = true
        backend.gateway.profiles = ["alice": AccountProfile(account: "alice", nickname: nil, faceURL: nil)]
        for random in ["1", "2"] {
            let batch = try ValidRequest.batch.breaking("1287657", random)
            #expect(try await post("openim/batchsendmsg", batch).code == 0)
        }
        #expect(try await post("timpush/batch", ValidRequest.pushBatch).code == 60007)
        let refused = try await post("openim/batchsendmsg", ValidRequest.batch)
        #expect(refused.code == 90057)
        #expect(refused.info.hasSuffix("(batch-recipients-per-minute)"))
        #expect(refused.retryAfter == "12")
        #expect(backend.gateway.orders.count == 2)
        #expect(try await post("openim/sendmsg", ValidRequest.single).code == 0)
        clock.advance(by: .seconds(12))
        #expect(try await post("openim/batchsendmsg", ValidRequest.batch).code == 0)
    }

    @Test("a batch that is refused for its content takes no recipients")
    func malformedBatch() async throws {
        limit(RateLimits(batchRecipientsPerMinute: 2))
        let malformed = try ValidRequest.batch.breaking(#""MsgRandom":1287657"#, #""MsgRandom":"x""#)
        #expect(try await post("openim/batchsendmsg", malformed).code == 90005)
        #expect(try await post("openim/batchsendmsg", ValidRequest.batch).code == 0)
    }

    @Test("bad UserSigs of one identifier: 70050 after so many, and a good one passes all the same")
    func userSigFailures() async throws {
        let clock = limit(RateLimits(userSigFailuresPerMinute: 3))
        let bad = "sdkappid=\(InMemoryGateway.sdkAppID)&identifier=administrator&usersig=eJw"
        for _ in 1...3 {
            #expect(try await post("openim/sendmsg", ValidRequest.single, query: bad).code == 70003)
        }
        let refused = try await post("openim/sendmsg", ValidRequest.single, query: bad)
        #expect(refused.code == 70050)
        #expect(refused.info.hasPrefix("usersig: the UserSig cannot be decoded; "), "\(refused.info)")
        #expect(refused.retryAfter == "60")
        #expect(try await post("openim/sendmsg", ValidRequest.single).code == 0)
        let other = "sdkappid=\(InMemoryGateway.sdkAppID)&identifier=alice&usersig=\(Backend.userSig)"
        #expect(try await post("openim/sendmsg", ValidRequest.single, query: other).code == 70013)
        clock.advance(by: .seconds(60))
        #expect(try await post("openim/sendmsg", ValidRequest.single, query: bad).code == 70003)
    }

    @Test(
        "pushes to all over a limit of all gateways have codes of their own, with Retry-After",
        arguments: [
            (RateLimitExceeded.Limit.secondsBetweenPushesToAll, 90024, "(seconds-between-pushes-to-all)"),
            (.pushesToAllPerDay, 90047, "(pushes-to-all-per-day)"),
        ] as [(RateLimitExceeded.Limit, Int64, String)]
    )
    func pushesToAll(limit: RateLimitExceeded.Limit, code: Int64, name: String) async throws {
        let push = #"{"MsgRandom":1,"OfflinePushInfo":{"Title":"Sale"}}"#
        #expect(try await post("timpush/push", push).code == 0)
        #expect(try await post("all_member_push/im_push", ValidRequest.minimal(ValidRequest.text)).code == 0)
        #expect(backend.gateway.planned.map(\.isPushToAll) == [true, true])
        #expect(backend.gateway.planned.allSatisfy { $0.sendAt == nil && $0.digest != nil })

        backend.gateway.unavailable = GatewayUnavailable(RateLimitExceeded(limit, wait: .milliseconds(1500)))
        let refused = try await post("timpush/push", push)
        #expect(refused.code == code)
        #expect(refused.info.hasSuffix(name), "\(refused.info)")
        #expect(refused.retryAfter == "2")
    }

    @Test("what goes to a group counts as no push to all")
    func groupIsNotAll() async throws {
        backend.gateway.app.allowsExtensions = true
        let group =
            #"{"GroupId":"team","Random":1,"MsgBody":[\#(ValidRequest.text)],"SendTime":\#(InMemoryGateway.time + 60)}"#
        #expect(try await post("group_open_http_svc/send_group_msg", group).code == 0)
        #expect(backend.gateway.planned.map(\.isPushToAll) == [false])
    }

    private static let ofAlice = {
        let userSig = UserSig.make(
            identifier: "alice",
            sdkAppID: InMemoryGateway.sdkAppID,
            secretKey: InMemoryGateway.secretKey,
            now: InMemoryGateway.time,
        )
        return "sdkappid=\(InMemoryGateway.sdkAppID)&identifier=alice&usersig=\(userSig)"
    }()
}
