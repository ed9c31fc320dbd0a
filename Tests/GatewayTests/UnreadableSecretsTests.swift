import APNs
import LiveActivity
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite("Secrets that a gateway cannot open", .serialized, .timeLimit(.minutes(5)))
struct UnreadableSecretsTests {
    private static func seal(_ letter: Character) throws -> SecretSeal {
        SecretSeal(masterKey: try MasterKey(base64: String(repeating: letter, count: 42) + "A="))
    }

    /// The key of the gateway under test, and another.
    private static let (own, foreign) = (Character("B"), Character("C"))

    /// Stores an app with the secret `secret-N`, and certificates, each under one of the two keys.
    private static func store(
        _ id: Int64,
        sealedWith key: Character,
        certificates: [(businessID: Int64, key: Character)] = [],
        in database: StoreDatabase,
    ) throws {
        func hex(_ bytes: [UInt8]) -> String {
            "'\\x" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
        }
        let secret = try seal(key).seal(Array("secret-\(id)".utf8), for: SecretOwner.application(id))
        try database.sql(
            """
            INSERT INTO app (sdk_app_id, secret_key_sealed, administrators, live_activity_alert)
            VALUES (\(id), \(hex(secret)), '{a}', true)
            ON CONFLICT (sdk_app_id) DO UPDATE SET secret_key_sealed = excluded.secret_key_sealed, updated_at = now()
            """
        )
        for (businessID, key) in certificates {
            let owner = SecretOwner.certificate(id, businessID)
            let sealed = try seal(key).seal(Array(Fixture.keyText.utf8), for: owner)
            try database.sql(
                """
                INSERT INTO certificate (sdk_app_id, business_id, bundle_id, team_id, key_id, private_key_sealed, environment)
                VALUES (\(id), \(businessID), 'com.example.app', 'TEAM567890', 'KEY4567890', \(hex(sealed)), 'both')
                ON CONFLICT (sdk_app_id, business_id) DO UPDATE
                    SET private_key_sealed = excluded.private_key_sealed, updated_at = now()
                """
            )
        }
    }

    /// Runs a test on a database whose apps are 7, 8 and 9 at most, and makes it as it was.
    private static func run(
        _ body: @Sendable (StoreDatabase, ApplicationDirectory, _ log: @Sendable () -> [String]) async throws -> Void
    ) async throws {
        try await StoreDatabase.run { _, database in
            try database.sql("DELETE FROM app")
            let lines = Lines()
            let directory = ApplicationDirectory(seal: try seal(own), logger: Logger { lines.add($0) })
            try await body(database, directory) { lines.all }
            try database.sql(
                """
                DELETE FROM app;
                INSERT INTO app (sdk_app_id, secret_key_sealed, administrators)
                VALUES (\(StoreDatabase.sdkAppID), '', '{a}')
                """
            )
        }
    }

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func add(_ line: String) {
            lines.withLock { $0.append(line) }
        }
    }

    // MARK: - The directory

    @Test("where everything opens nothing is held of it")
    func everythingOpens() async throws {
        try await Self.run { database, directory, _ in
            try Self.store(7, sealedWith: Self.own, certificates: [(1, Self.own)], in: database)
            try await directory.reload(from: database.pool)
            #expect(directory.unreadable == nil && directory.obstacle == nil && directory.faults.isEmpty)
            #expect(try directory.current.application(7)?.secretKey == Array("secret-7".utf8))
            #expect(try directory.current.application(8) == nil)
        }
    }

    @Test("one damaged row beside healthy ones disturbs its app only, is no reason to stop, and can be mended")
    func oneDamagedRow() async throws {
        try await Self.run { database, directory, _ in
            try Self.store(7, sealedWith: Self.own, certificates: [(1, Self.own)], in: database)
            try Self.store(8, sealedWith: Self.foreign, certificates: [(1, Self.own)], in: database)
            try Self.store(9, sealedWith: Self.own, certificates: [(1, Self.own), (2, Self.foreign)], in: database)
            for _ in 0..<2 {
                // The second time what is known is not opened again.
                try await directory.reload(from: database.pool)
                let unreadable = try #require(directory.unreadable)
                #expect(unreadable.obstacle == nil)
                #expect(unreadable.leftToOthers.isEmpty && unreadable.sharedWithOthers == [9])
                #expect(directory.faults.map { "\($0.key.sdkAppID)/\($0.key.subject)" } == ["8/app", "9/2"])
                #expect(try directory.current.application(7) != nil)
                #expect(throws: GatewayUnavailable(.secretNotReadable)) { try directory.current.application(8) }
                #expect(directory.current.hasCertificate(businessID: 2, in: 9))
                #expect(!directory.current.hasCertificate(businessID: 3, in: 9))
            }
            // To send it takes the other settings of the app, and its certificate.
            let underWay = directory.underWay(
                AcceptedMessage(id: 1, acceptedAt: Fixture.accepted),
                Fixture.order(sdkAppID: 8),
                deadline: Fixture.accepted,
            )
            #expect(underWay.application.copiesAlertToLiveActivity && underWay.certificates.count == 1)
            #expect(!underWay.isLeftToOthers)

            try Self.store(8, sealedWith: Self.own, in: database)
            try Self.store(9, sealedWith: Self.own, certificates: [(2, Self.own)], in: database)
            try await directory.reload(from: database.pool)
            #expect(directory.unreadable == nil)
            #expect(try directory.current.application(8) != nil)
        }
    }

    @Test(
        "of a kind of which nothing opens one alarm and one sentence tell, and the work is left to others",
        arguments: [(own, foreign), (foreign, own), (foreign, foreign)],
    )
    func wrongKey(apps: Character, certificates: Character) async throws {
        try await Self.run { database, directory, _ in
            for id in [7, 8] as [Int64] {
                try Self.store(id, sealedWith: apps, certificates: [(1, certificates)], in: database)
            }
            try await directory.reload(from: database.pool)
            let obstacle = try #require(directory.obstacle)
            #expect(obstacle.hasPrefix("LIVEPUSH_MASTER_KEY opens none of "))
            #expect(obstacle.contains("the secret keys of apps (2)") == (apps == Self.foreign))
            #expect(obstacle.contains("the keys of certificates (2)") == (certificates == Self.foreign))
            #expect(directory.faults.map(\.key.subject) == ["master key"])
            #expect(directory.unreadable?.leftToOthers == (certificates == Self.foreign ? [7, 8] : []))
            #expect(directory.unreadable?.leaves(8) == (certificates == Self.foreign))
        }
    }

    @Test("a key that opens but is none counts as not readable, and not as a wrong master key")
    func unusableKey() async throws {
        try await Self.run { database, directory, log in
            try Self.store(7, sealedWith: Self.own, certificates: [(1, Self.own)], in: database)
            try database.sql("UPDATE certificate SET key_id = 'short'")
            try await directory.reload(from: database.pool)
            #expect(directory.obstacle == nil && directory.unreadable?.leftToOthers == [7])
            #expect(directory.current.hasCertificate(businessID: 1, in: 7))
            #expect(log().map { $0.contains("certificate not usable") } == [true])
        }
    }

    // MARK: - The queue

    /// What a gateway cannot read that has the key of no certificate of the first apps, and not all keys of the second.
    private static func unreadable(_ left: [Int64], shared: [Int64] = []) throws -> UnreadableSecrets {
        let certificate = UnreadableSecrets.Certificate(bundleID: "com.example.app", scope: .both)
        return try #require(
            UnreadableSecrets(
                applications: [:],
                certificates: Dictionary(uniqueKeysWithValues: (left + shared).map { ($0, [1: certificate]) }),
                usable: Set(shared),
                counts: (.init(), .init()),
            )
        )
    }

    @Test("what others can send is left to them until its deadline, from whatever place in the queue")
    func leftToOthers() async throws {
        try await StoreDatabase.run { _, database in
            let apps: [Int64] = [StoreDatabase.sdkAppID, 8, StoreDatabase.sdkAppID]
            let receipts = try await database.accept(apps.map { Fixture.order(sdkAppID: $0) })
            let unreadable = try Self.unreadable([StoreDatabase.sdkAppID])
            try database.sql("UPDATE pending SET deadline = now() WHERE message_id = \(receipts[2].id)")
            for (place, isolation) in [("takeovers = 0", .none), ("takeovers = 1", .inCompany)]
                as [(String, InstanceDeaths.Isolation)]
            {
                try database.sql("UPDATE pending SET instance_id = NULL, \(place)")
                let work = try await database.store.takeDue(owner: 5, limit: 9, isolation, without: unreadable)
                #expect(work.map(\.receipt) == [receipts[1], receipts[2]], "\(place)")
                let others = try await database.store.takeDue(owner: 6, limit: 9, isolation)
                #expect(others.map(\.receipt) == [receipts[0]], "\(place)")
            }
            try database.sql("UPDATE pending SET instance_id = NULL, takeovers = 0, line = 'L'")
            let work = try await database.store.takeDue(owner: 5, limit: 9, from: "L", without: unreadable)
            #expect(work.map(\.receipt) == [receipts[1], receipts[2]])
        }
    }

    @Test("what waits for another key of its app is left to others for a while; the rest of the app is not")
    func sharedWithOthers() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([PushOrder](repeating: Fixture.order(), count: 3))
            try database.sql(
                """
                UPDATE pending SET reason = 'secret_not_readable' WHERE message_id <> \(receipts[0].id);
                UPDATE pending SET due = due - interval '11 seconds' WHERE message_id = \(receipts[2].id)
                """
            )
            let shared = try Self.unreadable([], shared: [StoreDatabase.sdkAppID])
            let work = try await database.store.takeDue(owner: 5, limit: 9, without: shared)
            #expect(work.map(\.receipt) == [receipts[0], receipts[2]])
            #expect(try await database.store.takeDue(owner: 6, limit: 9).map(\.receipt) == [receipts[1]])
        }
    }

    @Test("what is left to others is no backlog of all, but of its app, and says after a while why it waits")
    func backlog() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([
                Fixture.order(), Fixture.order(sdkAppID: 8), Fixture.order(sdkAppID: 8),
            ])
            #expect(try await database.store.backlog(upTo: 9, except: [8]).rows == 1)
            #expect(try await database.store.backlog(upTo: 9).rows == 3)
            #expect(try await database.store.scheduled(upTo: 9, with: [8]).rows == [8: 2])
            #expect(try await database.store.scheduled(upTo: 9).rows == [:])
            try database.sql(
                """
                UPDATE pending SET due = due - interval '6 seconds' WHERE message_id <> \(receipts[2].id);
                UPDATE pending SET takeovers = 1
                """
            )
            try await database.store.nameUnreadable([8])
            let reasons = "SELECT string_agg(reason, ',' ORDER BY message_id) FROM pending"
            #expect(try database.sql(reasons) == ",secret_not_readable,")
            // Not in the way of those that others wait for: put off by what it waited, within bounds.
            let delay =
                "SELECT round(extract(epoch FROM due - now())) FROM pending WHERE message_id = \(receipts[1].id)"
            #expect(try ["4", "5"].contains(database.sql(delay)))
            for (age, seconds) in [("100 seconds", "10"), ("1 day", "300")] {
                try database.sql(
                    """
                    UPDATE pending SET due = now() - interval '6 seconds', accepted_at = now() - interval '\(age)'
                    WHERE message_id = \(receipts[1].id)
                    """
                )
                try await database.store.nameUnreadable([8])
                #expect(try [seconds, "\((Int(seconds) ?? 0) - 1)"].contains(database.sql(delay)), "\(age)")
            }
            let hasAny = try await database.store.hasSuspects(except: [8, StoreDatabase.sdkAppID])
            #expect(!hasAny)
            let hasOther = try await database.store.hasSuspects(except: [8])
            #expect(hasOther)
        }
    }

    // MARK: - A recipient

    private static let missing: [Int64: UnreadableSecrets.Certificate] = [
        1: .init(bundleID: "com.example.app", scope: .both)
    ]

    @Test("a push whose key is not readable here goes to another gateway at once, and waits if it comes back")
    func waitsForSecret() throws {
        let message = try Fixture.message(certificates: [Fixture.certificate(2)], unreadable: Self.missing)
        var script = DeliveryScript(message)
        _ = script.start()
        #expect(try script.found([Fixture.activity()]) == ["wait until 0 s: secret_not_readable"])
        #expect(try script.resumed())
        _ = script.start(at: 10)
        #expect(try script.found([Fixture.activity()], at: 10) == ["wait until 40 s: secret_not_readable"])
        #expect(script.start(at: 3600) == ["live_activity to phone-1: expired, activity_registered"])
        #expect(script.delivery.progress.targets.map(\.statusReason) == ["secret_not_readable"])
        #expect(script.delivery.progress.targets.map(\.attempts) == [0])
    }

    @Test("a message that nobody could send until its deadline ends with that reason; one that was late does not")
    func endsAtDeadline() throws {
        var left = DeliveryScript(try Fixture.message(certificates: [], unreadable: Self.missing))
        #expect(left.start(at: 3600) == ["none: expired, secret_not_readable"])
        var late = DeliveryScript(try Fixture.message())
        #expect(late.start(at: 3600) == ["none: expired, deadline_passed"])
    }

    @Test("a token is not called bad while the key for its other environment is not readable here")
    func otherEnvironment() throws {
        let unreadable: [Int64: UnreadableSecrets.Certificate] = [
            2: .init(bundleID: "com.example.app", scope: .production)
        ]
        let message = try Fixture.message(certificates: [Fixture.certificate(1, .sandbox)], unreadable: unreadable)
        var script = DeliveryScript(message)
        script.suspicion = .tokenFault
        _ = script.start()
        #expect(
            try script.found([Fixture.activity(environment: nil)]) == ["push activity to phone-1 by 1 in sandbox"]
        )
        #expect(script.answered(0, .refused(400, "BadDeviceToken")) == ["wait until 1 s: secret_not_readable"])
        #expect(script.suspects.isEmpty)
        #expect(try script.resumed())
        _ = script.start(at: 11)
        // What refused it already is not asked again.
        #expect(
            try script.found([Fixture.activity(environment: nil)], at: 11) == ["wait until 41 s: secret_not_readable"]
        )
        // A gateway that has the key asks there.
        let whole = try Fixture.message(certificates: [
            Fixture.certificate(1, .sandbox), Fixture.certificate(2, .production),
        ])
        var other = DeliveryScript(whole, progress: script.delivery.progress)
        _ = other.start(at: 12)
        #expect(
            try other.found([Fixture.activity(environment: nil)], at: 41) == [
                "push activity to phone-1 by 2 in production"
            ]
        )
        // One that is known to be of that environment is not tried in this one.
        var known = DeliveryScript(message)
        _ = known.start()
        #expect(
            try known.found([Fixture.activity(environment: .production)]) == ["wait until 0 s: secret_not_readable"]
        )
    }

    @Test("the key of another bundle id, or of the environment that there is a key for, is not missed")
    func unrelatedKey() throws {
        let unreadable: [Int64: UnreadableSecrets.Certificate] = [
            2: .init(bundleID: "com.example.other", scope: .both),
            3: .init(bundleID: "com.example.app", scope: .sandbox),
        ]
        let message = try Fixture.message(certificates: [Fixture.certificate(1, .sandbox)], unreadable: unreadable)
        var script = DeliveryScript(message)
        _ = script.start()
        _ = try script.found([Fixture.activity(environment: nil)])
        #expect(
            script.answered(0, .refused(400, "BadDeviceToken")).first == "fall back: activity_push_refused"
        )
        #expect(script.suspects.count == 1)
    }
}
