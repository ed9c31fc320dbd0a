public import PostgresClient

/// Seals every secret in the database under a new master key.
public enum MasterKeyRotation {
    /// How many secrets there were.
    public struct Count: Sendable, Equatable {
        /// Sealed anew.
        public var resealed = 0
        /// Found under the new key already.
        public var alreadyNew = 0
    }

    /// A secret that opens under neither key.
    public struct Unreadable: Error, Sendable, CustomStringConvertible {
        /// Names the row.
        public let description: String
    }

    /// Seals anew what the previous key of `seal` opens: all of it or nothing. To repeat it changes nothing.
    ///
    /// `updated_at` stays: a gateway that does not know the new key goes on with the secrets it has in memory, instead of
    /// losing them all at once.
    ///
    /// - Parameter connection: one that nothing else uses; after an error it is in a failed transaction and to be closed.
    /// - Throws: ``Unreadable``, ``SecretSealError`` or `PostgresError`. Nothing is changed then.
    public static func run(_ seal: SecretSeal, in connection: PostgresConnection) async throws -> Count {
        var count = Count()
        _ = try await connection.run(PostgresStatement("BEGIN"))
        let tables = SealedColumn.all.map { "\($0.table)" }.joined(separator: ", ")
        // Against `app` and `certificate` elsewhere, which would seal under the former key behind our back. Gateways read,
        // and phones register, meanwhile; a gateway that makes a provider token waits.
        _ = try await connection.run(
            PostgresStatement(unsafeText: "LOCK TABLE \(tables) IN SHARE ROW EXCLUSIVE MODE")
        )
        for column in SealedColumn.all {
            let keys = column.keys.map { "\($0)" }
            let condition = keys.enumerated().map { "\($1)::text = $\($0 + 2)::text" }.joined(separator: " AND ")
            let update = "UPDATE \(column.table) SET \(column.column) = $1::bytea WHERE \(condition)"
            let order = keys.joined(separator: ", ")
            let list = keys.map { "\($0)::text" }.joined(separator: ", ")
            let result = try await connection.run(
                PostgresStatement(unsafeText: "SELECT \(column.column), \(list) FROM \(column.table) ORDER BY \(order)")
            )
            for row in result.rows {
                var key: [String] = []
                for index in keys.indices {
                    key.append(try row.text(.index(index + 1)))
                }
                guard let resealed = try resealed(try row.bytes(0), seal, column, key) else {
                    count.alreadyNew += 1
                    continue
                }
                let parameters = [PostgresParameter.bytes(resealed)] + key.map { .text($0) }
                _ = try await connection.run(PostgresStatement(unsafeText: update, parameters))
                count.resealed += 1
            }
        }
        _ = try await connection.run(PostgresStatement("COMMIT"))
        return count
    }

    private static func resealed(
        _ sealed: [UInt8],
        _ seal: SecretSeal,
        _ column: SealedColumn,
        _ key: [String],
    ) throws -> [UInt8]? {
        do throws(SecretSealError) {
            return try seal.resealed(sealed, for: column.owner(key))
        } catch .sealed {
            throw Unreadable(description: "\(column.name(key)) opens under neither key; nothing was changed")
        }
    }
}
