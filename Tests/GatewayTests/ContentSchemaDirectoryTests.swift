import ContentSchema
import Logging
import TestSupport
import Testing

@testable import Gateway

@Suite("Content schemas", .timeLimit(.minutes(5)))
struct ContentSchemaDirectoryTests {
    private static func model(_ key: String) -> String {
        """
        {"format": 1, "attributesType": "A", "attributes": "A", "contentState": "A",
         "types": {"A": {"fields": [{"key": "\(key)", "type": "Int"}]}}}
        """
    }

    private static func versions(_ fromAppVersions: [String?]) throws -> [StoredSchema] {
        let schema = try ActivitySchema(parsing: Array(self.model("n").utf8))
        return fromAppVersions.enumerated().map { index, version in
            StoredSchema(
                version: Int64(index + 1),
                fromAppVersion: version.flatMap { AppVersion($0) },
                schema: schema,
            )
        }
    }

    @Test(
        "C77: a device is checked by the version that its app has",
        arguments: [
            ([nil, "2.0"], "1.9", 1), ([nil, "2.0"], "2.0.0", 2), ([nil, "2.0"], "10", 2), ([nil, "2.0"], nil, 2),
            (["2.0", nil], "2.1", 1), (["2.0", nil], "1", 2), (["2.0", nil], nil, 2), ([nil, nil], "1", 2),
            (["2.0", "2"], "2.0.1", 2), (["2.9", "2.10"], "2.9.9", 1), (["2.9", "2.10"], "2.11", 2),
            (["2.0"], "1.0", nil), (["2.0"], "beta", 1), ([], "1.0", nil), ([], nil, nil),
        ] as [([String?], String?, Int64?)],
    )
    func versionForApp(fromAppVersions: [String?], appVersion: String?, expected: Int64?) throws {
        let chosen = try Self.versions(fromAppVersions).version(for: appVersion.flatMap { AppVersion($0) })
        #expect(chosen?.version == expected)
    }

    @Test("What is stored is found by app, type and app version, and followed when it changes")
    func directory() async throws {
        try await StoreDatabase.run { _, database in
            let id = StoreDatabase.sdkAppID
            let directory = ContentSchemaDirectory(logger: Logger(minimumLevel: .error) { _ in })
            try await directory.reload(from: database.pool)
            #expect(directory.schemas(of: id) == nil)

            try database.sql(
                """
                INSERT INTO content_schema (sdk_app_id, attributes_type, version, from_app_version, model)
                VALUES (\(id), 'A', 1, NULL, '\(Self.model("old"))'), (\(id), 'A', 2, '2.0', '\(Self.model("new"))');
                UPDATE app SET schema_policy = 'fallback', schema_converts_dates = true
                """
            )
            try await directory.reload(from: database.pool)
            let first = try #require(directory.schemas(of: id))
            #expect(first.rules == ContentRules(policy: .fallback, convertsDates: true))
            #expect(first.schema(attributesType: "A", appVersion: "1.5")?.version == 1)
            #expect(first.schema(attributesType: "A", appVersion: "2.5")?.version == 2)
            // A phone that told no type, of an app that has only one.
            #expect(first.schema(attributesType: nil, appVersion: nil)?.version == 2)
            #expect(first.schema(attributesType: "B", appVersion: nil) == nil)
            #expect(directory.schemas(of: id + 1) == nil)

            try database.sql(
                """
                DELETE FROM content_schema WHERE version = 2;
                INSERT INTO content_schema (sdk_app_id, attributes_type, version, model)
                VALUES (\(id), 'B', 1, '\(Self.model("b"))'), (\(id), 'B', 2, '{"format": 2}')
                """
            )
            try await directory.reload(from: database.pool)
            let second = try #require(directory.schemas(of: id))
            #expect(second.schema(attributesType: "A", appVersion: "2.5")?.version == 1)
            #expect(second.schema(attributesType: "B", appVersion: "2.5")?.version == 1)
            #expect(second.schema(attributesType: nil, appVersion: nil) == nil)

            // The same number again, with another content.
            try database.sql(
                """
                DELETE FROM content_schema WHERE attributes_type = 'B';
                INSERT INTO content_schema (sdk_app_id, attributes_type, version, model)
                VALUES (\(id), 'B', 1, '\(Self.model("other"))')
                """
            )
            try await directory.reload(from: database.pool)
            let again = try #require(directory.schemas(of: id)?.schema(attributesType: "B", appVersion: nil))
            #expect(again.schema.types["A"] == .structure([ContentField(key: "other", type: .scalar(.int))]))
            try database.sql("UPDATE app SET schema_policy = DEFAULT, schema_converts_dates = DEFAULT")
        }
    }
}
