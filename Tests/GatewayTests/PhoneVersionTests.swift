import ContentSchema
import LiveActivity
import PostgresClient
import Testing

@testable import Gateway

@Suite("Versions of phones", .serialized, .timeLimit(.minutes(5)))
struct PhoneVersionTests {
    private static func question(
        _ accounts: String...,
        laID: String = "order-7",
        event: ActivityEvent = .update,
    ) -> DeliveryStore.PhoneQuestion {
        DeliveryStore.PhoneQuestion(
            sdkAppID: StoreDatabase.sdkAppID,
            laID: laID,
            life: ActivityLife.duration(for: event),
            accounts: accounts,
        )
    }

    private static func phone(_ type: String?, _ version: String?, _ count: Int64 = 1) -> ContentReview.PhoneVersion {
        ContentReview.PhoneVersion(attributesType: type, appVersion: version, count: count)
    }

    @Test(
        "Each question is answered by what is registered and alive, with the app version of the activity or the device"
    )
    func answers() async throws {
        try await StoreDatabase.run { _, database in
            let ride = "attributes_type = 'Ride', app_version"
            try database.registerActivity(on: "p1", token: 1, columns: "\(ride) = '1.0'")
            try database.registerActivity(on: "p2", token: 2, columns: "\(ride) = '1.0'")
            try database.registerActivity(of: "bob", on: "p3", token: 3, columns: "attributes_type = 'Ride'")
            try database.registerDevice(of: "bob", on: "p3", columns: "app_version = '2.0'")
            try database.registerActivity(of: "carol", on: "p4", token: 4)
            try database.registerActivity(of: "dan", on: "p5", token: 5, columns: "ended_at = now()")
            try database.registerActivity(of: "dan", on: "p6", token: 6, columns: "quarantined_at = now()")
            let old = "started_at = now() - interval '9 hours'"
            try database.registerActivity(of: "dan", on: "p7", token: 7, columns: old)
            try database.registerActivity("order-8", of: "dan", on: "p8", token: 8, columns: "\(ride) = '3.0'")
            let found = try await database.store.phoneVersions([
                Self.question("alice", "bob"), Self.question("nobody"), Self.question("carol"), Self.question("dan"),
                Self.question("dan", event: .end), Self.question("dan", "alice", laID: "order-8"),
                Self.question("alice"),
            ])
            #expect(
                found == [
                    [Self.phone("Ride", "1.0", 2), Self.phone("Ride", "2.0")], [], [Self.phone(nil, nil)], [],
                    [Self.phone(nil, nil)], [Self.phone("Ride", "3.0")], [Self.phone("Ride", "1.0", 2)],
                ]
            )
        }
    }

    @Test("Of devices only the phones with these tokens count, those too on which a start of the type comes up")
    func devices() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(on: "p1", token: 11, columns: "app_version = '1.0'")
            try database.registerDevice(on: "p2", token: 12, columns: "app_version = '2.0'")
            try database.registerDevice(of: "bob", on: "p3", token: 13, columns: "app_version = '3.0'")
            try database.registerActivity(on: "p1", token: 1, columns: "attributes_type = 'Ride'")
            try database.registerActivity(on: "p2", token: 2, columns: "attributes_type = 'Ride'")
            try database.registerActivity(of: "bob", on: "p3", token: 3, columns: "ended_at = now()")
            try database.sql(
                """
                SELECT register_start_token(\(StoreDatabase.sdkAppID), 'bob', '*', 'p3', decode(repeat('05', 64), 'hex'), 1,
                    NULL, NULL, NULL, NULL)
                """
            )
            func found(_ devices: UInt8..., startedType: String? = nil) async throws -> [ContentReview.PhoneVersion] {
                var question = Self.question()
                question.devices = try devices.map { try Fixture.token($0) }
                question.startedType = startedType
                return try await database.store.phoneVersions(question)
            }
            #expect(try await found(12, 99) == [Self.phone("Ride", "2.0")])
            #expect(try await found(11, 12) == [Self.phone("Ride", "1.0"), Self.phone("Ride", "2.0")])
            #expect(try await found(13) == [])
            #expect(try await found(13, startedType: "Order") == [Self.phone("Order", "3.0")])
            var asked = Self.question("alice")
            asked.devices = []
            let byAccount = try await database.store.phoneVersions(asked)
            #expect(byAccount.count == 2)
        }
    }

    @Test("At most 500 devices are looked up before a message is stored, and no other audience", arguments: [500, 501])
    func audiences(count: Int) throws {
        let order = Fixture.order()
        let model = """
            {"format": 1, "attributesType": "Ride", "attributes": "A", "contentState": "S",
             "types": {"A": {"fields": []}, "S": {"fields": [{"key": "n", "type": "String"}]}}}
            """
        let schema = StoredSchema(
            version: 1,
            fromAppVersion: nil,
            schema: try ActivitySchema(parsing: Array(model.utf8)),
        )
        let schemas = try #require(ContentSchemas(rules: ContentRules(), types: ["Ride": [schema]]))
        func looksUp(_ audience: Audience?) -> Bool {
            var order = order
            order.recipients = []
            order.audience = audience
            if case .dependsOnPhones(let pending) = ContentReview.begin(order, by: schemas, now: 0) {
                return pending.question.devices.count == count
            }
            return false
        }
        let tokens = [PushToken](repeating: try Fixture.token(1), count: count)
        #expect(looksUp(.devices(tokens)) == (count == 500))
        #expect(!looksUp(.everyone) && !looksUp(.activity("order-7")) && !looksUp(.segments(all: ["F"], any: [])))
    }

    @Test("A claim tells type and app version only where they are asked for")
    func claimed() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "attributes_type = 'Ride'")
            try database.registerDevice(columns: "app_version = '2.0'")
            let claim = DeliveryStore.Claim(
                sdkAppID: StoreDatabase.sdkAppID,
                account: "alice",
                laID: "order-7",
                messageID: 1,
                acceptedAt: Fixture.accepted,
                isEnd: false,
            )
            for readsVersions in [false, true] {
                let found = try await database.store.claim(
                    [claim],
                    pacing: ActivityPacing(interval: .zero),
                    at: Fixture.accepted,
                    readsVersions: readsVersions,
                ).flatMap { $0 }
                #expect(found.map(\.attributesType) == [readsVersions ? "Ride" : nil])
                #expect(found.map(\.appVersion) == [readsVersions ? "2.0" : nil])
            }
        }
    }
}
