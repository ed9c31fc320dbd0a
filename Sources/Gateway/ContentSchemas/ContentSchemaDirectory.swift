import ContentSchema
import Logging
import PostgresClient
import Synchronization

/// The schemas of all apps and what to do by them, as last read from PostgreSQL. One for the process.
final class ContentSchemaDirectory: Sendable {
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var apps: [Int64: ContentSchemas] = [:]
        /// Rows are added and removed, never changed: one that was read is not read again.
        var read: [Row: StoredSchema] = [:]
        var complaints: Set<Row> = []
    }

    /// What names a row. A number may be given again after a removal, but not at the same moment.
    private struct Row: Hashable {
        let sdkAppID: Int64
        let attributesType: String
        let version: Int64
        let createdAt: Int64
    }

    /// - Parameter logger: hears of a schema that this release cannot read, once.
    init(logger: Logger) {
        self.logger = logger
    }

    /// What the phones of an app decode; nil: it has no schema, so that nothing is checked.
    func schemas(of sdkAppID: Int64) -> ContentSchemas? {
        self.state.withLock { $0.apps[sdkAppID] }
    }

    /// Reads what changed. A schema that cannot be read is left out and logged once.
    func reload(from pool: PostgresPool) async throws(PostgresError) {
        let results = try await pool.run([
            PostgresStatement("SELECT sdk_app_id, schema_policy, schema_converts_dates FROM app"),
            PostgresStatement(
                """
                SELECT sdk_app_id, attributes_type, version::bigint, created_at, from_app_version
                FROM content_schema ORDER BY version
                """
            ),
        ])
        let before = self.state.withLock { $0 }
        var after = State()
        after.complaints = before.complaints
        var rules: [Int64: ContentRules] = [:]
        for row in results[0].rows {
            let policy = ContentRules.Policy(rawValue: try row.text(1)) ?? .reject
            rules[try row.integer(0)] = ContentRules(policy: policy, convertsDates: try row.boolean(2))
        }
        var listed: [(row: Row, fromAppVersion: String?)] = []
        for row in results[1].rows {
            let key = Row(
                sdkAppID: try row.integer(0),
                attributesType: try row.text(1),
                version: try row.integer(2),
                createdAt: try row.timestampMicroseconds(3),
            )
            listed.append((key, try row.textOrNil(4)))
        }
        let unread = listed.filter { before.read[$0.row] == nil && !before.complaints.contains($0.row) }.map(\.row)
        let models = try await self.models(of: unread, from: pool)
        var types: [Int64: [String: [StoredSchema]]] = [:]
        for (row, fromAppVersion) in listed {
            guard let schema = before.read[row] ?? self.read(row, fromAppVersion, models[row], &after) else { continue }
            after.read[row] = schema
            types[row.sdkAppID, default: [:]][row.attributesType, default: []].append(schema)
        }
        for (sdkAppID, types) in types {
            after.apps[sdkAppID] = ContentSchemas(rules: rules[sdkAppID] ?? ContentRules(), types: types)
        }
        self.state.withLock { [after] in $0 = after }
    }

    private func models(of rows: [Row], from pool: PostgresPool) async throws(PostgresError) -> [Row: String] {
        guard !rows.isEmpty else { return [:] }
        let result = try await pool.run([
            PostgresStatement(
                """
                SELECT sdk_app_id, attributes_type, version::bigint, created_at, model::text
                FROM content_schema JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS wanted (id, type, number)
                    ON (sdk_app_id, attributes_type, version) = (wanted.id, wanted.type, wanted.number)
                """,
                [
                    .integers(rows.map(\.sdkAppID)), .texts(rows.map(\.attributesType)), .integers(rows.map(\.version)),
                ],
            )
        ])
        var models: [Row: String] = [:]
        for row in result[0].rows {
            let key = Row(
                sdkAppID: try row.integer(0),
                attributesType: try row.text(1),
                version: try row.integer(2),
                createdAt: try row.timestampMicroseconds(3),
            )
            models[key] = try row.text(4)
        }
        return models
    }

    private func read(_ row: Row, _ fromAppVersion: String?, _ model: String?, _ state: inout State) -> StoredSchema? {
        // Nil: it was removed between the two statements, or complained about before.
        guard let model else { return nil }
        do {
            return StoredSchema(
                version: row.version,
                fromAppVersion: fromAppVersion.flatMap { AppVersion($0) },
                schema: try ActivitySchema(parsing: Array(model.utf8)),
            )
        } catch {
            state.complaints.insert(row)
            self.logger.error(
                "content schema not readable",
                [
                    "sdk_app_id": .integer(row.sdkAppID), "attributes_type": .string(row.attributesType),
                    "version": .integer(row.version), "error": .string(error.description),
                ],
            )
            return nil
        }
    }
}
