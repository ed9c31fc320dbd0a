import Testing

@testable import Gateway

@Suite("Lines of an import file", .timeLimit(.minutes(5)))
struct ImportBatchTests {
    private static let header = ImportColumns.fields.map(\.column).joined(separator: ",")
    private static let token = String(repeating: "ab", count: 32)
    private static let otherToken = String(repeating: "cd", count: 32)
    private static let now = UnixTime(seconds: 1_796_007_172)

    /// A device that keeps all rules; break one thing.
    private static let device = [
        "kind": "device", "account": "alice", "installation": "phone-1", "token": token, "business_id": "1",
        "environment": "production", "os_version": "18.1", "app_version": "1.2", "language": "en",
        "notification_permission": "authorized", "frequent_pushes_enabled": "true",
    ]
    private static let activity = [
        "kind": "activity", "account": "alice", "installation": "phone-1", "token": otherToken, "business_id": "1",
        "la_id": "order-1", "attributes_type": "OrderAttributes", "started_at": "1796000000",
    ]

    private static let start = [
        "kind": "start", "account": "alice", "installation": "phone-1", "token": otherToken, "business_id": "1",
        "attributes_type": "OrderAttributes", "environment": "sandbox", "os_version": "18.0", "app_version": "1.2",
    ]

    private static func batch(_ rows: [[String: String]]) throws -> ImportBatch {
        let lines = rows.map { row in
            ImportColumns.fields.map { "\"\(row[$0.column] ?? "")\"" }.joined(separator: ",")
        }
        return try batch(text: ([header] + lines).joined(separator: "\n"))
    }

    private static func batch(text: String) throws -> ImportBatch {
        try batch(Array(text.utf8))
    }

    private static func batch(_ bytes: [UInt8]) throws -> ImportBatch {
        var reader = CSVReader()
        reader.append(bytes)
        let columns = try ImportColumns(reader.next(isLast: true))
        var batch = ImportBatch()
        while let record = reader.next(isLast: true) {
            batch.add(record, columns: columns, now: now, businessIDs: [1])
        }
        return batch
    }

    @Test("a device and an activity come with all their fields")
    func everyField() throws {
        let batch = try Self.batch([Self.device, Self.activity])
        #expect(batch.refusals.isEmpty)
        guard case .device(let device)? = batch.lines.first?.registration,
            case .activity(let activity)? = batch.lines.last?.registration
        else {
            Issue.record("not a device and an activity")
            return
        }
        #expect(device.token.hexadecimal == Self.token)
        #expect(device.environment == .production)
        #expect(device.osVersion == "18.1" && device.appVersion == "1.2" && device.language == "en")
        #expect(device.notificationPermission == .authorized && device.frequentPushesEnabled == true)
        #expect(activity.laID == "order-1" && activity.attributesType == "OrderAttributes")
        #expect(activity.startedAt == UnixTime(seconds: 1_796_000_000))
        #expect(batch.lines.map(\.account) == ["alice", "alice"])
        #expect(batch.lines.map(\.installation) == ["phone-1", "phone-1"])
    }

    @Test("a push-to-start token comes with all its fields, and without what belongs to other kinds")
    func startToken() throws {
        let row = Self.start.merging(
            ["la_id": String(repeating: "x", count: 65), "started_at": "never", "language": "en"],
            uniquingKeysWith: { $1 },
        )
        let batch = try Self.batch([row])
        #expect(batch.refusals.isEmpty)
        guard case .start(let start)? = batch.lines.first?.registration else {
            Issue.record("not a push-to-start token")
            return
        }
        #expect(start.attributesType == "OrderAttributes" && start.token.hexadecimal == Self.otherToken)
        #expect(start.businessID == 1 && start.environment == .sandbox)
        #expect(start.osVersion == "18.0" && start.appVersion == "1.2" && start.sequence == nil)
    }

    @Test("an empty field says nothing, and what belongs to the other kind is ignored")
    func absentFields() throws {
        var device = Self.device
        device["environment"] = ""
        device["notification_permission"] = nil
        device["la_id"] = String(repeating: "x", count: 65)
        device["started_at"] = "never"
        let batch = try Self.batch([device])
        #expect(batch.refusals.isEmpty)
        guard case .device(let found)? = batch.lines.first?.registration else { return }
        #expect(found.environment == nil && found.notificationPermission == nil)
    }

    @Test(
        "a line that breaks a rule is refused, naming the column and nothing of the line",
        arguments: [
            ("device", "kind", "phone"), ("device", "kind", ""), ("device", "account", ""),
            ("device", "account", String(repeating: "a", count: 129)), ("device", "installation", ""),
            ("device", "installation", "a b"), ("device", "installation", ".."), ("device", "token", ""),
            ("device", "token", "zz"), ("device", "token", "abc"), ("device", "token", "abcd"),
            ("device", "business_id", ""), ("device", "business_id", "one"), ("device", "business_id", "2"),
            ("device", "environment", "Production"), ("device", "os_version", String(repeating: "1", count: 65)),
            ("device", "notification_permission", "yes"), ("device", "frequent_pushes_enabled", "1"),
            ("device", "account", "al\u{0}ice"), ("activity", "la_id", ""),
            ("activity", "la_id", String(repeating: "x", count: 65)), ("activity", "started_at", "1796000000000"),
            ("activity", "started_at", "817692800"), ("activity", "started_at", "-1"), ("activity", "started_at", "0"),
            ("activity", "started_at", "1.5"), ("activity", "attributes_type", String(repeating: "x", count: 129)),
            ("start", "attributes_type", ""), ("start", "attributes_type", "Order Attributes"),
            ("start", "attributes_type", "2Order"), ("start", "attributes_type", "App."),
            ("start", "attributes_type", String(repeating: "x", count: 129)),
            ("start", "token", "abcd"), ("start", "business_id", "2"), ("start", "environment", "both"),
            ("start", "os_version", String(repeating: "1", count: 65)),
        ],
    )
    func refused(kind: String, column: String, value: String) throws {
        var row = try #require(["device": Self.device, "activity": Self.activity, "start": Self.start][kind])
        row[column] = value
        let batch = try Self.batch([row, Self.device])
        let refusal = try #require(batch.refusals.first)
        #expect(batch.refusals.count == 1 && batch.lines.count == 1)
        #expect(refusal.line == 2 && refusal.field == column)
        #expect(value.count < 3 || !refusal.reason.contains(value), "\(refusal.reason)")
        #expect(!refusal.reason.contains("\"") && !refusal.reason.contains(Self.token))
    }

    @Test("bytes that are no UTF-8, too few fields and stray quotes refuse their line only")
    func damagedLines() throws {
        let good = "device,bob,phone-2,\(Self.otherToken),1"
        let header = "kind,account,installation,token,business_id\n"
        let damaged: [[UInt8]] = [
            Array("device,".utf8) + [0xFF, 0xC0] + Array(",phone-1,\(Self.token),1".utf8),
            Array("device,alice,phone-1,\(Self.token)".utf8), Array("\(good),".utf8), Array("device,al\"ice".utf8),
        ]
        for line in damaged {
            let batch = try Self.batch(Array(header.utf8) + line + Array("\n\(good)\n".utf8))
            #expect(batch.lines.map(\.account) == ["bob"])
            #expect(batch.refusals.map(\.line) == [2])
        }
    }

    @Test(
        "a header that is not understood refuses the file, and shows nothing that may be a token",
        arguments: [
            ("", "empty"), ("kind,account,installation,token", "business_id"),
            ("kind,account,installation,token,business_id,os_versoin", "'os_versoin'"),
            ("kind,account,installation,token,business_id,token", "second token"),
            ("device,alice,phone-1,\(token),1", "column 1 ('device') is unknown"),
            ("\(token),alice", "column 1 is unknown"), ("kind;account;installation", "semicolons"),
            ("Kind,account", "'Kind'"), ("\"kind", "cannot be read"),
        ],
    )
    func badHeader(text: String, words: String) throws {
        do {
            _ = try Self.batch(text: text)
            Issue.record("no error")
        } catch let error as ImportError {
            #expect(error.description.contains(words), "\(error)")
            #expect(!error.description.contains(Self.token))
        }
    }

    @Test("columns stand in any order")
    func order() throws {
        let batch = try Self.batch(text: "token,kind,business_id,account,installation\n\(Self.token),device,1,bob,p")
        #expect(batch.lines.map(\.account) == ["bob"])
    }

    @Test("lines that share an installation or a token with an earlier one are taken in turn, the others at once")
    func inTurn() throws {
        func device(_ account: String, _ installation: String, _ token: Int) -> [String: String] {
            let hex = String(repeating: "0", count: 62) + (token < 10 ? "0" : "") + String(token)
            return Self.device.merging(
                ["account": account, "installation": installation, "token": hex],
                uniquingKeysWith: { $1 }
            )
        }
        func activity(_ account: String, _ installation: String, _ laID: String, _ token: Int) -> [String: String] {
            device(account, installation, token).merging(["kind": "activity", "la_id": laID], uniquingKeysWith: { $1 })
        }
        let rows = [
            device("a", "p1", 1), activity("a", "p1", "x", 1), activity("a", "p1", "y", 2), device("b", "p2", 2),
            device("a", "p1", 3), activity("a", "p1", "x", 3), activity("b", "p1", "z", 4), device("c", "p3", 2),
            activity("b", "p2", "x", 5), device("d", "p4", 9), activity("d", "p4", "x", 4), activity("d", "p4", "y", 6),
        ]
        let batch = try Self.batch(rows)
        #expect(batch.refusals.isEmpty)
        #expect(
            batch.lines.map(\.isInTurn) == [
                false, false, false, false, true, true, true, true, true, false, true, true,
            ]
        )
    }

    @Test(
        "of push-to-start tokens another of the same type takes its turn, and one that is at another installation too"
    )
    func startsInTurn() throws {
        func start(_ installation: String, _ type: String, _ token: Int, account: String = "a") -> [String: String] {
            Self.start.merging(
                [
                    "account": account, "installation": installation, "attributes_type": type,
                    "token": String(repeating: "0", count: 63) + String(token),
                ],
                uniquingKeysWith: { $1 },
            )
        }
        let batch = try Self.batch([
            // The types of an installation may have one token.
            start("p1", "x", 1), start("p1", "y", 1), start("p1", "x", 2), start("p2", "x", 3), start("p3", "x", 3),
            start("p4", "x", 4), start("p4", "y", 5, account: "b"), start("p5", "x", 6),
        ])
        #expect(batch.refusals.isEmpty)
        #expect(batch.lines.map(\.isInTurn) == [false, false, true, false, true, false, true, false])
    }
}
