import LiveActivity
import TestSupport
import Testing

@testable import Gateway

@Suite("Counting badges", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStoreBadgeTests {
    private static func count(
        _ messageID: Int64,
        _ change: BadgeChange = .add(1),
        account: String = "alice",
        excepted: [String] = [],
    ) -> DeliveryStore.BadgeCount {
        DeliveryStore.BadgeCount(
            sdkAppID: StoreDatabase.sdkAppID,
            account: account,
            messageID: messageID,
            change: change,
            excepted: excepted,
        )
    }

    @Test("each message counts once in each phone of its recipient, by what it adds or sets")
    func counts() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(columns: "badge = 4, language = 'de', environment = 'sandbox'")
            try database.registerDevice(on: "phone-2", token: 102)
            try database.registerDevice(of: "bob", on: "phone-3", token: 103, columns: "badge = 10")
            let now = try database.time()
            var numbers: [[Int64?]] = []
            for (id, change) in [(10, .add(1)), (11, .add(99)), (12, .set(7)), (13, .add(1))] as [(Int64, BadgeChange)]
            {
                let found = try await database.store.countedDevices([Self.count(id, change)], at: now)
                numbers.append(found[0].sorted { $0.installation < $1.installation }.map(\.badge))
            }
            #expect(numbers == [[5, 1], [104, 100], [7, 7], [8, 8]])
            let rows = try database.sql("SELECT installation, badge FROM device ORDER BY 1")
            #expect(rows == "phone-1|8\nphone-2|8\nphone-3|10")
            let found = try await database.store.countedDevices([Self.count(14)], at: now)
            let device = try #require(found[0].first { $0.installation == "phone-1" })
            #expect(device == (try Fixture.device(environment: .sandbox, language: "de", badge: 9)))
        }
    }

    @Test("the devices of many recipients are answered in their places")
    func batch() async throws {
        try await StoreDatabase.run { _, database in
            for number in 1...20 as ClosedRange<UInt8> {
                let columns = "badge = \(number)"
                try database.registerDevice(
                    of: "user-\(number)",
                    on: "phone-\(number)",
                    token: number,
                    columns: columns
                )
            }
            let counts = (0...20).reversed().map { Self.count(10, account: "user-\($0)") }
            let found = try await database.store.countedDevices(counts, at: try database.time())
            let expected: [[Int64?]] = (0...20).reversed().map { number in number == 0 ? [] : [Int64(number) + 1] }
            #expect(found.map { $0.map(\.badge) } == expected)
        }
    }

    @Test("a message that is sent again after a crash is not counted again, others in between or not")
    func crash() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(columns: "badge = 4")
            let now = try database.time()
            for id in [12, 10, 11, 12, 10, 11, 11] as [Int64] {
                _ = try await database.store.countedDevices([Self.count(id)], at: now)
            }
            #expect(try database.sql("SELECT badge, badge_messages FROM device") == "7|{11,10,12}")
            // The number of a set one stays its own; what was counted since is not undone.
            _ = try await database.store.countedDevices([Self.count(13, .set(2))], at: now)
            _ = try await database.store.countedDevices([Self.count(14)], at: now)
            let again = try await database.store.countedDevices([Self.count(13, .set(2))], at: now)
            #expect(again[0].map(\.badge) == [2])
            #expect(try database.sql("SELECT badge FROM device") == "3")
        }
    }

    @Test("a retry counts only in phones that registered since the first attempt, however many messages came between")
    func retry() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice()
            let now = try database.time()
            for id in 10...29 as ClosedRange<Int64> {
                _ = try await database.store.countedDevices([Self.count(id)], at: now)
            }
            #expect(try database.sql("SELECT cardinality(badge_messages) FROM device") == "8")
            try database.registerDevice(on: "phone-2", token: 102)
            let retry = Self.count(10, excepted: ["tablet", "phone-1"])
            let found = try await database.store.countedDevices([retry], at: now)
            let numbers = found[0].sorted { $0.installation < $1.installation }.map(\.badge)
            #expect(numbers == [20, 1])
        }
    }

    @Test("a phone with the app in front, or whose person denied notifications, is found and not counted")
    func notCounted() async throws {
        try await StoreDatabase.run { _, database in
            let time = try database.time()
            let until = "to_timestamp(\(time.microseconds)::numeric / 1000000)"
            let second = "interval '1 second'"
            try database.registerDevice(columns: "foreground_until = \(until) + \(second)")
            try database.registerDevice(on: "phone-2", token: 102, columns: "notification_permission = 'denied'")
            try database.registerDevice(on: "phone-3", token: 103, columns: "foreground_until = \(until)")
            try database.registerDevice(on: "phone-4", token: 104, columns: "notification_permission = 'authorized'")
            for change in [.add(1), .set(5)] as [BadgeChange] {
                let id: Int64 = change == .set(5) ? 11 : 10
                let found = try await database.store.countedDevices([Self.count(id, change)], at: time)
                #expect(found[0].count == 4)
                #expect(Set(found[0].filter(\.deniesNotifications).map(\.installation)) == ["phone-2"])
                var script = DeliveryScript(try Fixture.message(Fixture.order(nil)))
                _ = script.start()
                // What is counted is what is pushed to.
                let pushed = script.delivery.devicesFound(
                    found[0],
                    of: script.message,
                    schedule: .standard,
                    at: time,
                )
                guard case .push(let attempts) = pushed else { throw TestFailure("nothing was pushed") }
                #expect(Set(attempts.map(\.installation)) == ["phone-3", "phone-4"])
            }
            let rows = try database.sql("SELECT badge FROM device ORDER BY installation")
            #expect(rows == "0\n0\n5\n5")
        }
    }

    @Test("a badge is counted up to 99,999")
    func highest() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(columns: "badge = 99950")
            let found = try await database.store.countedDevices([Self.count(10, .add(99))], at: try database.time())
            #expect(found[0].map(\.badge) == [99_999])
        }
    }

    @Test("messages that count at the same time on several connections lose no count and do not lock each other out")
    func concurrency() async throws {
        try await StoreDatabase.run(connections: 4) { lane, database in
            for number in 1...10 as ClosedRange<UInt8> {
                try database.registerDevice(of: "user-\(number)", on: "phone-\(number)", token: number)
            }
            let time = try database.time()
            let tasks = (0..<40).map { id in
                // Half of them ask in the other order.
                let users = id.isMultiple(of: 2) ? Array(1...10) : (1...10).reversed()
                return Task {
                    _ = lane
                    _ = try await database.store.countedDevices(
                        users.map { Self.count(Int64(id), account: "user-\($0)") },
                        at: time,
                    )
                }
            }
            for task in tasks {
                try await task.value
            }
            #expect(try database.sql("SELECT DISTINCT badge FROM device") == "40")
        }
    }

    @Test("the badge's columns are in no index, so that counting stays an update in place")
    func inPlace() async throws {
        try await StoreDatabase.run { _, database in
            let indexed = try database.sql(
                """
                SELECT count(*) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
                WHERE indrelid = 'device'::regclass AND attname IN ('badge', 'badge_messages', 'foreground_until')
                """
            )
            #expect(indexed == "0")
        }
    }

    @Test("two messages to one account do not count in one statement, the second follows in order")
    func distinct() throws {
        var queue = WorkQueue()
        let message = MessageTask(try Fixture.message(Fixture.order(nil)), isWhole: true, isShared: false)
        let other = MessageTask(try Fixture.message(Fixture.order(nil)), isWhole: true, isShared: false)
        for (account, message) in [("alice", message), ("bob", message), ("alice", other), ("carol", other)] {
            queue.append(RecipientTask(account, message, RecipientDelivery(), 1))
        }
        let first = queue.takeDistinct(limit: 10, by: \.accountKey)
        #expect(first?.map(\.account) == ["alice", "bob", "carol"])
        let second = queue.takeDistinct(limit: 10, by: \.accountKey)
        #expect(second?.map(\.account) == ["alice"])
        #expect(second?.first?.message === other)
        #expect(queue.takeDistinct(limit: 10, by: \.accountKey) == nil)
    }
}
