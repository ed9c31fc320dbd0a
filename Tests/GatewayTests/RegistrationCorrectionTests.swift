import APNs
import LiveActivity
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("What answers of APNs change in registrations", .serialized, .timeLimit(.minutes(5)))
struct RegistrationCorrectionTests {
    private static func correct(
        _ database: StoreDatabase,
        _ change: RegistrationCorrection.Change,
        messageID: Int64? = nil,
        kind: DeliveryTarget.Kind = .activity,
        installation: String? = "phone-1",
        token: UInt8? = 1,
    ) async throws {
        let accepted = try #require(try await database.accept(owner: 5).first)
        let receipt = AcceptedMessage(id: messageID ?? accepted.id, acceptedAt: accepted.acceptedAt)
        let correction = RegistrationCorrection(
            kind: kind,
            installation: installation,
            token: try token.map(Fixture.token),
            change: change,
        )
        try await database.settle([StoreDatabase.entry(receipt, .accepted(), [correction], event: .end)])
    }

    @Test(
        "C40: a dead token is forgotten only if it was registered before it died",
        arguments: [(-1, 1), (0, 0), (1, 0)]
    )
    func forget(seconds: Int64, left: Int) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "registered_at = to_timestamp(\(Fixture.accepted.seconds))")
            try database.registerDevice(columns: "registered_at = to_timestamp(\(Fixture.accepted.seconds))")
            let died = Fixture.accepted + .seconds(seconds)
            try await Self.correct(database, .forget(registeredUntil: died))
            #expect(try database.sql("SELECT count(*) FROM live_activity") == "\(left)")
            #expect(try database.sql("SELECT count(*) FROM device") == "1")
            try await Self.correct(database, .forget(registeredUntil: died), kind: .device, token: 101)
            #expect(try database.sql("SELECT count(*) FROM device") == "\(left)")
        }
    }

    @Test("C53: a dead activity token takes no other registration with it")
    func forgetOne() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            try database.registerActivity("order-8", token: 2)
            try database.registerActivity(on: "phone-2", token: 3)
            try database.registerDevice()
            try await Self.correct(database, .forget(registeredUntil: try database.time()))
            #expect(
                try database.sql("SELECT la_id, installation FROM live_activity ORDER BY 1, 2")
                    == "order-7|phone-2\norder-8|phone-1"
            )
            #expect(try database.sql("SELECT count(*) FROM device") == "1")
        }
    }

    @Test("a token that replaced the dead one meanwhile is kept")
    func forgetFormer() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(token: 2)
            try await Self.correct(database, .forget(registeredUntil: try database.time(plus: 60)))
            #expect(try database.sql("SELECT count(*) FROM live_activity") == "1")
        }
    }

    @Test(
        "C42: the environment that worked is remembered on the row of the token",
        arguments: [APNsEnvironment.sandbox, .production]
    )
    func environment(environment: APNsEnvironment) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            try database.registerActivity(on: "phone-2", token: 2)
            try database.registerDevice(columns: "environment = 'sandbox'")
            try await Self.correct(database, .rememberEnvironment(environment))
            try await Self.correct(database, .rememberEnvironment(environment), kind: .device, token: 101)
            #expect(
                try database.sql("SELECT installation, environment FROM live_activity ORDER BY 1")
                    == "phone-1|\(environment.rawValue)\nphone-2|"
            )
            #expect(try database.sql("SELECT environment FROM device") == environment.rawValue)
        }
    }

    @Test("an accepted end closes the activity, whatever token the phone has by then", arguments: [1, 2] as [UInt8])
    func endAccepted(tokenNow: UInt8) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(token: tokenNow, columns: "end_message = 10")
            try database.registerActivity(on: "phone-2", token: 3, columns: "end_message = 10")
            try await Self.correct(database, .endAccepted, messageID: 10, token: nil)
            #expect(
                try database.sql("SELECT installation, ended_at IS NOT NULL, end_message FROM live_activity ORDER BY 1")
                    == "phone-1|t|10\nphone-2|f|10"
            )
            let acceptedAt = try database.time(plus: 120)
            #expect(
                try await database.claim(12, acceptedAt: acceptedAt).map(\.verdict).sorted { $0.rawValue < $1.rawValue }
                    == [.activityEnded, .notLive]
            )
        }
    }

    @Test("the end of another message closes nothing: the activity has a new life")
    func endOfFormerLife() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            try await Self.correct(database, .endAccepted, messageID: 10, token: nil)
            try await Self.correct(database, .endGivenUp, messageID: 10, token: nil)
            #expect(try database.sql("SELECT ended_at IS NULL, end_message IS NULL FROM live_activity") == "t|t")
        }
    }

    @Test(
        "a state that was not accepted is forgotten, unless a newer message was claimed since",
        arguments: [10, 11] as [Int64]
    )
    func stateNotAccepted(newest: Int64) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "last_message = \(newest), last_state = 7")
            try database.registerActivity(on: "phone-2", token: 2, columns: "last_message = 10, last_state = 7")
            try await Self.correct(database, .stateNotAccepted, messageID: 10, token: nil)
            #expect(
                try database.sql("SELECT installation, last_state FROM live_activity ORDER BY 1")
                    == "phone-1|\(newest == 10 ? "" : "7")\nphone-2|7"
            )
        }
    }

    @Test("an end that is given up lets updates through again", arguments: ["phone-1", nil])
    func endGivenUp(installation: String?) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            try database.registerActivity(of: "bob", on: "phone-2", token: 2)
            _ = try await database.claim(10, isEnd: true)
            _ = try await database.claim(10, isEnd: true, account: "bob")
            #expect(try await database.claim(12).map(\.verdict) == [.activityEnded])
            try await Self.correct(database, .endGivenUp, messageID: 10, installation: installation, token: nil)
            #expect(try await database.claim(12).map(\.verdict) == [.claimed])
            #expect(try await database.claim(12, account: "bob").map(\.verdict) == [.activityEnded])
        }
    }

    @Test("an end that was accepted on one phone stays accepted when it is given up for the rest")
    func endGivenUpForTheRest() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "end_message = 10, ended_at = now()")
            try database.registerActivity(on: "phone-2", token: 2, columns: "end_message = 10")
            try await Self.correct(database, .endGivenUp, messageID: 10, installation: nil, token: nil)
            #expect(
                try database.sql("SELECT installation, ended_at IS NOT NULL, end_message FROM live_activity ORDER BY 1")
                    == "phone-1|t|10\nphone-2|f|"
            )
        }
    }
}
