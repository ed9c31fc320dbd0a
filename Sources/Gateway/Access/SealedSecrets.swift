public import PostgresClient

/// Whether every secret in the database opens.
public enum SealedSecrets {
    /// What was found.
    public struct Findings: Sendable, Equatable {
        /// How many secrets there are.
        public var count = 0
        /// Those that do not open: table, and the row in words.
        public var unreadable: [(table: String, row: String)] = []

        /// Whether both say the same.
        public static func == (left: Findings, right: Findings) -> Bool {
            left.count == right.count && left.unreadable.elementsEqual(right.unreadable, by: ==)
        }
    }

    /// Opens each of them with `seal`. Changes nothing.
    public static func check(
        _ seal: SecretSeal,
        in connection: PostgresConnection,
    ) async throws(PostgresError) -> Findings {
        var findings = Findings()
        for column in SealedColumn.all {
            let list = column.keys.map { "\($0)::text" }.joined(separator: ", ")
            let result = try await connection.run(
                PostgresStatement(unsafeText: "SELECT \(column.column), \(list) FROM \(column.table) ORDER BY \(list)")
            )
            for row in result.rows {
                var key: [String] = []
                for index in column.keys.indices {
                    key.append(try row.text(.index(index + 1)))
                }
                findings.count += 1
                if (try? seal.open(try row.bytes(0), for: column.owner(key))) == nil {
                    findings.unreadable.append((table: "\(column.table)", row: column.name(key)))
                }
            }
        }
        return findings
    }
}
