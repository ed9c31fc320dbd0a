public import PostgresClient

/// Whether every secret in the database opens.
public enum SealedSecrets {
    /// What was found.
    public struct Findings: Sendable, Equatable {
        /// How many secrets there are.
        public var count = 0
        /// How many each table has.
        public var stored: [String: Int] = [:]
        /// Those that do not open: table, and the row in words.
        public var unreadable: [(table: String, row: String)] = []

        /// Tables that have secrets of which none opens: the key is wrong, rather than a row damaged.
        public var locked: Set<String> {
            Set(stored.filter { table, count in unreadable.count { $0.table == table } == count }.keys)
        }

        /// Whether both say the same.
        public static func == (left: Findings, right: Findings) -> Bool {
            left.count == right.count && left.stored == right.stored
                && left.unreadable.elementsEqual(right.unreadable, by: ==)
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
                findings.stored["\(column.table)", default: 0] += 1
                if (try? seal.open(try row.bytes(0), for: column.owner(key))) == nil {
                    findings.unreadable.append((table: "\(column.table)", row: column.name(key)))
                }
            }
        }
        return findings
    }
}
