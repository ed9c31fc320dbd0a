import APNs
import EventLoop
import Testing

@testable import Gateway

@Suite("Alarms", .timeLimit(.minutes(5)))
struct AlarmBookTests {
    private var book = AlarmBook()

    private static func time(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .seconds(seconds)
    }

    private static func attempt(_ kind: DeliveryTarget.Kind = .activity, businessID: Int64 = 1) throws -> PushAttempt {
        PushAttempt(
            target: 0,
            installation: "phone-1",
            kind: kind,
            token: try Fixture.token(1),
            destination: PushDestination(certificate: try Fixture.certificate(businessID), environment: .sandbox),
            timestamp: nil,
            expiration: 0,
            priority: 10,
        )
    }

    private static func alarm(_ status: Int, _ reason: String, _ kind: DeliveryTarget.Kind = .activity) throws -> Alarm
    {
        try #require(Alarm(.refused(status, reason), for: attempt(kind), of: Fixture.message()))
    }

    /// Raised as `kind count`, ended as `kind ended`.
    private mutating func writes(at seconds: Double) -> [String] {
        let writes = book.takeWrites(at: AlarmBookTests.time(seconds))
        return writes.raised.map { "\($0.alarm.key.kind.rawValue) \($0.count)" }
            + writes.ended.map { "\($0.kind.rawValue) ended" }
    }

    private mutating func keyWasTaken(_ route: DeliveryTarget.Kind = .activity, provesTopic: Bool = true) {
        book.keyWasTaken(
            sdkAppID: 1_400_000_000,
            businessID: 1,
            environment: .sandbox,
            route: route,
            provesTopic: provesTopic,
        )
    }

    @Test("what is over is written as ended, also where the alarm itself is not remembered any more")
    mutating func ended() {
        let place = TokenFailureBoard.Place(sdkAppID: 1, bundleID: "com.example.app", environment: .production)
        let alarm = Alarm.massTokenFailure(of: 20, in: place, businessID: 1)
        #expect(alarm.key.subject == "com.example.app/production")
        book.raise(alarm)
        #expect(writes(at: 0) == ["mass_token_failure 1"])
        book.end(alarm)
        #expect(writes(at: 5) == ["mass_token_failure ended"])
        #expect(writes(at: 10) == [])
        #expect(!book.hasUnwritten)
        book.end(alarm)
        #expect(writes(at: 20) == ["mass_token_failure ended"])
        book.end(alarm)
        book.raise(alarm)
        #expect(writes(at: 30) == ["mass_token_failure 1"])
    }

    @Test(
        "an answer that a person must act on becomes an alarm, others do not",
        arguments: [
            (APNsOutcome.refused(403, "InvalidProviderToken"), "signing_key_refused 1/sandbox/InvalidProviderToken"),
            (.refused(403, "BadEnvironmentKeyInToken"), "signing_key_refused 1/sandbox/BadEnvironmentKeyInToken"),
            (.held(APNsHold(reason: "InvalidProviderToken")), "signing_key_refused 1/sandbox/InvalidProviderToken"),
            (.held(APNsHold(reason: "ProviderTokenNotSigned")), "signing_key_refused 1/sandbox/ProviderTokenNotSigned"),
            (.held(APNsHold(reason: "ExpiredProviderToken")), "provider_token_refused 1/sandbox/ExpiredProviderToken"),
            (.refused(403, "ExpiredProviderToken"), "provider_token_refused 1/sandbox/ExpiredProviderToken"),
            (
                .refused(429, "TooManyProviderTokenUpdates"),
                "provider_token_refused 1/sandbox/TooManyProviderTokenUpdates"
            ),
            (.refused(400, "TopicDisallowed"), "topic_refused 1/sandbox/activity/TopicDisallowed"),
            (.refused(403, "Forbidden"), "topic_refused 1/sandbox/activity/Forbidden"),
            (
                .held(APNsHold(reason: "Forbidden", isAboutTopic: true)),
                "topic_refused 1/sandbox/activity/Forbidden"
            ),
            (.held(APNsHold(reason: "Forbidden", isAboutTopic: true, isUnconfirmed: true)), nil),
            (.refused(400, "DeviceTokenNotForTopic"), "wrong_topic 1/sandbox/activity/DeviceTokenNotForTopic"),
            (.refused(400, "BadExpirationDate"), "request_refused 1/sandbox/activity/BadExpirationDate"),
            (
                .unanswered(APNsFailure(.connectFailed, detail: "no route"), mayHaveBeenProcessed: false),
                "apns_unreachable sandbox"
            ),
            (.accepted, nil), (.dead(since: nil), nil), (.refused(400, "BadDeviceToken"), nil), (.lost, nil),
            (.refused(429, "TooManyRequests"), nil), (.refused(503, "ServiceUnavailable"), nil),
        ] as [(APNsOutcome, String?)],
    )
    func kinds(outcome: APNsOutcome, expected: String?) throws {
        let alarm = try Alarm(outcome, for: AlarmBookTests.attempt(), of: Fixture.message())
        #expect(alarm.map { "\($0.key.kind.rawValue) \($0.key.subject)" } == expected)
        if let alarm, alarm.key.kind != .apnsUnreachable {
            #expect(alarm.key.sdkAppID == 1_400_000_000 && alarm.businessID == 1 && alarm.environment == .sandbox)
            #expect(!alarm.detail.contains(try Fixture.token(1).hexadecimal))
        }
    }

    @Test("an alarm is written at once, then with what was counted, at most once in five seconds")
    mutating func throttling() throws {
        let alarm = try AlarmBookTests.alarm(403, "InvalidProviderToken")
        book.raise(alarm)
        #expect(book.hasUnwritten && book.awaitsEnd)
        #expect(writes(at: 0) == ["signing_key_refused 1"])
        #expect(writes(at: 6) == [])
        book.raise(alarm)
        #expect(writes(at: 7) == ["signing_key_refused 1"])
        for _ in 1...3 { book.raise(alarm) }
        #expect(writes(at: 11.9) == [])
        #expect(book.hasUnwritten)
        #expect(writes(at: 12) == ["signing_key_refused 3"])
    }

    @Test("a push that APNs takes with the same key ends the alarm of the key, once")
    mutating func endOfKeyAlarm() throws {
        book.raise(try AlarmBookTests.alarm(403, "InvalidProviderToken"))
        _ = writes(at: 0)
        keyWasTaken(provesTopic: false)
        keyWasTaken(provesTopic: false)
        #expect(!book.awaitsEnd)
        #expect(writes(at: 5) == ["signing_key_refused ended"])
        #expect(writes(at: 10) == [])
        #expect(book == AlarmBook())
    }

    @Test("an alarm of a topic ends with a push of the same kind that proves the topic, and only with that")
    mutating func endOfTopicAlarm() throws {
        book.raise(try AlarmBookTests.alarm(400, "TopicDisallowed"))
        _ = writes(at: 0)
        keyWasTaken(.device)
        keyWasTaken(.activity, provesTopic: false)
        #expect(writes(at: 5) == [])
        keyWasTaken(.activity)
        #expect(writes(at: 10) == ["topic_refused ended"])
    }

    @Test("any answer from an environment shows that it can be reached")
    mutating func endOfUnreachable() throws {
        let failure = APNsOutcome.unanswered(APNsFailure(.connectFailed), mayHaveBeenProcessed: false)
        let attempt = try AlarmBookTests.attempt(businessID: 9)
        book.raise(try #require(Alarm(failure, for: attempt, of: Fixture.message())))
        _ = writes(at: 0)
        keyWasTaken(provesTopic: false)
        #expect(writes(at: 5) == ["apns_unreachable ended"])
    }

    @Test("another app, certificate or environment ends nothing")
    mutating func othersEndNothing() throws {
        book.raise(try AlarmBookTests.alarm(403, "InvalidProviderToken"))
        let others: [(Int64, Int64, APNsEnvironment)] = [
            (1, 1, .sandbox), (1_400_000_000, 2, .sandbox), (1_400_000_000, 1, .production),
        ]
        for (app, businessID, environment) in others {
            book.keyWasTaken(
                sdkAppID: app,
                businessID: businessID,
                environment: environment,
                route: .activity,
                provesTopic: true,
            )
        }
        #expect(book.awaitsEnd)
    }

    @Test("what comes and goes between two writes is raised and ended; what comes again stays up")
    mutating func comingAndGoing() throws {
        let alarm = try AlarmBookTests.alarm(403, "InvalidProviderToken")
        book.raise(alarm)
        keyWasTaken()
        #expect(writes(at: 0) == ["signing_key_refused 1", "signing_key_refused ended"])
        book.raise(alarm)
        keyWasTaken()
        book.raise(alarm)
        #expect(writes(at: 5) == ["signing_key_refused 2"])
        #expect(book.awaitsEnd)
    }

    @Test(
        "an alarm of another gateway, or of a former life of this one, is ended here as well; one ended there is forgotten"
    )
    mutating func followingTheTable() throws {
        let alarm = try AlarmBookTests.alarm(403, "InvalidProviderToken")
        book.follow([alarm])
        #expect(book.awaitsEnd && !book.hasUnwritten)
        keyWasTaken()
        #expect(writes(at: 0) == ["signing_key_refused ended"])

        book.follow([alarm])
        book.follow([])
        #expect(!book.awaitsEnd)
    }

    @Test("an alarm that just ended here is not taken up again from a reading that is older")
    mutating func readingDuringTheEnd() throws {
        let alarm = try AlarmBookTests.alarm(403, "InvalidProviderToken")
        book.raise(alarm)
        _ = writes(at: 0)
        keyWasTaken()
        book.follow([alarm])
        #expect(!book.awaitsEnd)
        #expect(writes(at: 5) == ["signing_key_refused ended"])
    }

    @Test("what could not be written is written with the next")
    mutating func failedWrite() throws {
        let alarm = try AlarmBookTests.alarm(403, "InvalidProviderToken")
        book.raise(alarm)
        book.putBack(book.takeWrites(at: AlarmBookTests.time(0)))
        book.raise(alarm)
        #expect(writes(at: 1) == ["signing_key_refused 2"])
        keyWasTaken()
        book.putBack(book.takeWrites(at: AlarmBookTests.time(7)))
        #expect(writes(at: 8) == ["signing_key_refused ended"])
    }

    @Test("an alarm that fades by itself is not remembered, and ends nothing")
    mutating func fading() throws {
        book.raise(try AlarmBookTests.alarm(400, "DeviceTokenNotForTopic"))
        #expect(!book.awaitsEnd)
        #expect(writes(at: 0) == ["wrong_topic 1"])
        #expect(writes(at: 5) == [])
        #expect(book == AlarmBook())
    }

    @Test("memory is bounded")
    mutating func bounded() throws {
        var alarm = try AlarmBookTests.alarm(403, "InvalidProviderToken")
        for number in 0..<(AlarmBook.limit + 10) {
            alarm.key.subject = "\(number)"
            book.raise(alarm)
        }
        #expect(book.takeWrites(at: AlarmBookTests.time(0)).raised.count == AlarmBook.limit)
    }
}
