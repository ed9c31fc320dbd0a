import APNs
import Logging
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Alarms in PostgreSQL", .serialized, .timeLimit(.minutes(5)))
struct AlarmStoreTests {
    private static let key = Alarm(
        key: Alarm.Key(
            kind: .signingKeyRefused,
            sdkAppID: StoreDatabase.sdkAppID,
            subject: "1/sandbox/InvalidProviderToken"
        ),
        businessID: 1,
        environment: .sandbox,
        detail: "APNs refuses the signing key",
    )
    private static let topic = Alarm(
        key: Alarm.Key(kind: .topicRefused, sdkAppID: StoreDatabase.sdkAppID, subject: "1/sandbox/activity/BadTopic"),
        businessID: 1,
        environment: .sandbox,
        route: .activity,
        detail: "the key may not send",
    )

    private static func writes(_ raised: (Alarm, Int64)..., ended: [Alarm] = []) -> AlarmBook.Writes {
        AlarmBook.Writes(raised: raised.map { (alarm: $0.0, count: $0.1) }, ended: ended.map(\.key))
    }

    @Test("an alarm is one row: seen again it counts on, ended it is over, and it comes back as it was written")
    func oneRow() async throws {
        try await StoreDatabase.run { _, database in
            let store = AlarmStore(pool: database.pool)
            let open = try await store.exchange(Self.writes((Self.key, 2), (Self.topic, 1)), host: "host-1")
            #expect(open.count == 2 && open.contains(Self.key) && open.contains(Self.topic))
            _ = try await store.exchange(Self.writes((Self.key, 3)), host: "host-2")
            let state =
                "SELECT count, host, ended_at IS NULL, last_seen > first_seen FROM alarm WHERE kind = 'signing_key_refused'"
            #expect(try database.sql(state) == "5|host-2|t|t")

            let left = try await store.exchange(Self.writes(ended: [Self.key]), host: "host-1")
            #expect(left == [Self.topic])
            #expect(try database.sql(state) == "5|host-2|f|t")
        }
    }

    @Test("raised soon after its end an alarm goes on; later it begins anew")
    func reopening() async throws {
        try await StoreDatabase.run { _, database in
            let store = AlarmStore(pool: database.pool)
            for (ago, expected) in [("10 seconds", "3|t"), ("2 minutes", "1|f")] {
                try database.sql("DELETE FROM alarm")
                _ = try await store.exchange(Self.writes((Self.key, 2)), host: "")
                try database.sql(
                    """
                    UPDATE alarm SET first_seen = now() - interval '1 hour', ended_at = now() - interval '\(ago)'
                    """
                )
                _ = try await store.exchange(Self.writes((Self.key, 1)), host: "")
                let state = "SELECT count, first_seen < now() - interval '30 minutes' FROM alarm WHERE ended_at IS NULL"
                #expect(try database.sql(state) == expected)
            }
        }
    }

    @Test("a key that opens nothing is one fault of the directory, and an alarm that fades")
    func secretsThatCannotBeOpened() async throws {
        try await StoreDatabase.run { _, database in
            let seal = SecretSeal(masterKey: try MasterKey(base64: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="))
            let directory = ApplicationDirectory(seal: seal, logger: Logger(minimumLevel: .error) { _ in })
            try await directory.reload(from: database.pool)
            #expect(directory.faults.map(\.key.subject) == ["master key"])
            let board = AlarmBoard()
            for fault in directory.faults { board.raise(fault) }
            try await board.exchange(with: AlarmStore(pool: database.pool), host: "host-1")
            let seen = "SELECT kind, sdk_app_id, count, detail LIKE '%(seen by host-1)', what_to_do <> '' FROM alarms"
            #expect(try database.sql(seen) == "secret_not_readable||1|t|t")
            try database.sql("UPDATE alarm SET fades_at = now()")
            #expect(try database.sql(seen) == "")
        }
    }

    @Test("what PostgreSQL refuses to store is dropped; while it is away it is kept")
    func failingWrites() async throws {
        try await StoreDatabase.run { lane, database in
            let board = AlarmBoard()
            let store = AlarmStore(pool: database.pool)
            var bad = Self.key
            bad.detail = "a\0b"
            board.raise(bad)
            await #expect(throws: PostgresError.self) { try await board.exchange(with: store, host: "") }
            #expect(!board.hasUnwritten)
            let away = PostgresPool(
                url: "postgres://127.0.0.1:1/none",
                connections: 1,
                on: lane.loop,
                logger: Logger(minimumLevel: .error) { _ in },
                connectionWait: .zero,
            )
            board.raise(Self.topic)
            await #expect(throws: PostgresError.self) {
                try await board.exchange(with: AlarmStore(pool: away), host: "")
            }
            #expect(board.hasUnwritten)
            away.close()
        }
    }
}
