import ContentSchema
import PostgresClient

/// The rows of content_schema, for the commands.
enum SchemaTable {
    /// A stored version.
    struct Row: Sendable {
        let version: Int64
        let fromAppVersion: String?
        let schema: ActivitySchema
    }

    /// Where a schema comes from.
    struct Source: Sendable {
        let file: String
        let bytes: [UInt8]
    }

    /// All versions of a type, oldest first.
    static func versions(
        of type: String,
        _ sdkAppID: Int64,
        in connection: PostgresConnection,
    ) async throws -> [Row] {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT version::bigint, from_app_version, model::text FROM content_schema
                WHERE sdk_app_id = $1::bigint AND attributes_type = $2::text ORDER BY version
                """,
                [.integer(sdkAppID), .text(type)],
            )
        )
        var rows: [Row] = []
        for row in result.rows {
            let version = try row.integer(0)
            do {
                let schema = try ActivitySchema(parsing: Array(try row.text(2).utf8))
                rows.append(Row(version: version, fromAppVersion: try row.textOrNil(1), schema: schema))
            } catch let error as SchemaError {
                throw CommandFailure("version \(version) of \(type) cannot be read by this release: \(error)")
            }
        }
        return rows
    }

    /// Stores a schema as the next version of its type.
    ///
    /// - Returns: its number.
    static func add(
        _ schema: ActivitySchema,
        to sdkAppID: Int64,
        fromAppVersion: String?,
        source: Source?,
        in connection: PostgresConnection,
    ) async throws -> Int64 {
        let result = try await connection.run(
            PostgresStatement(
                """
                INSERT INTO content_schema (
                    sdk_app_id, attributes_type, version, from_app_version, model, source_file, source_sha256)
                SELECT $1::bigint, $2::text, coalesce(max(version), 0) + 1, $3::text, $4::json, $5::text,
                    encode(sha256($6::bytea), 'hex')
                FROM content_schema WHERE sdk_app_id = $1::bigint AND attributes_type = $2::text
                HAVING EXISTS (SELECT FROM app WHERE sdk_app_id = $1::bigint)
                RETURNING version::bigint
                """,
                [
                    .integer(sdkAppID), .text(schema.attributesType), .text(fromAppVersion),
                    .text(String(decoding: schema.json, as: UTF8.self)), .text(source?.file), .bytes(source?.bytes),
                ],
            )
        )
        guard let row = result.rows.first else { throw CommandFailure("there is no app \(sdkAppID)") }
        return try row.integer(0)
    }
}
