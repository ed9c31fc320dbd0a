public import PostgresClient

/// Reads who is in a segment out of a CSV file: all of it or nothing.
public final class SegmentImport {
    /// What a run did.
    public struct Counts: Sendable, Equatable {
        /// Members that were not in the segment before.
        public var added: Int64 = 0
        /// Members that left it.
        public var removed: Int64 = 0
        /// Lines of the file, the header apart.
        public var lines: Int64 = 0
    }

    /// Lines that are wrong, so that nothing was imported. Holds nothing of what stands in them.
    public struct Refused: Error, Sendable, CustomStringConvertible {
        /// The first of them with what is wrong with each, a line for each.
        public let description: String
    }

    private static let batchSize = 5000
    private static let mostFaults = 20

    private let segment: String
    private let sdkAppID: Int64
    private let replaces: Bool
    private let file: ImportFile
    private let connection: PostgresConnection
    private var isAtEnd = false
    private var faults: [String] = []

    /// - Parameters:
    ///   - replaces: whoever is not in the file leaves the segment.
    ///   - connection: one that nothing else uses.
    public init(
        of segment: String,
        in sdkAppID: Int64,
        replaces: Bool,
        from file: ImportFile,
        in connection: PostgresConnection,
    ) {
        self.segment = segment
        self.sdkAppID = sdkAppID
        self.replaces = replaces
        self.file = file
        self.connection = connection
    }

    /// Imports the file.
    ///
    /// - Throws: ``Refused``, ``ImportError`` or `PostgresError`; nothing has changed then.
    public func run() async throws -> Counts {
        var reader = CSVReader()
        let columns = try SegmentColumns(try next(&reader))
        var counts = Counts()
        _ = try await connection.run(PostgresStatement("BEGIN"))
        do {
            _ = try await connection.run([
                PostgresStatement(
                    """
                    CREATE TEMPORARY TABLE imported (account text NOT NULL, installation text) ON COMMIT DROP
                    """
                )
            ])
            while true {
                let members = try read(&reader, columns, &counts)
                guard !members.isEmpty else { break }
                try await store(members)
            }
            guard faults.isEmpty else { throw Refused(description: faults.joined(separator: "\n")) }
            try await take(&counts)
            _ = try await connection.run(PostgresStatement("COMMIT"))
        } catch {
            _ = try? await connection.run(PostgresStatement("ROLLBACK"))
            throw error
        }
        return counts
    }

    private func store(_ members: [SegmentMember]) async throws(PostgresError) {
        _ = try await connection.run(
            PostgresStatement(
                "INSERT INTO imported SELECT * FROM unnest($1::text[], $2::text[])",
                [.texts(members.map(\.account)), .texts(members.map(\.installation))],
            )
        )
    }

    private func take(_ counts: inout Counts) async throws(PostgresError) {
        let place: [PostgresParameter] = [.integer(sdkAppID), .text(segment)]
        if replaces {
            counts.removed = Int64(
                try await connection.run(
                    PostgresStatement(
                        """
                        DELETE FROM segment
                        WHERE sdk_app_id = $1::bigint AND name = $2::text AND NOT EXISTS (
                            SELECT FROM imported
                            WHERE imported.account = segment.account
                                AND coalesce(imported.installation, '') = coalesce(segment.installation, ''))
                        """,
                        place,
                    )
                ).affectedRows
            )
        }
        counts.added = Int64(
            try await connection.run(
                PostgresStatement(
                    """
                    INSERT INTO segment (sdk_app_id, name, account, installation)
                    SELECT $1::bigint, $2::text, account, installation FROM imported
                    ON CONFLICT DO NOTHING
                    """,
                    place,
                )
            ).affectedRows
        )
    }

    private func read(
        _ reader: inout CSVReader,
        _ columns: SegmentColumns,
        _ counts: inout Counts,
    ) throws -> [SegmentMember] {
        var members: [SegmentMember] = []
        while members.count < SegmentImport.batchSize, let record = try next(&reader) {
            counts.lines += 1
            do {
                members.append(try columns.member(of: record))
            } catch {
                faults.append("line \(record.line): \(error)")
                guard faults.count < SegmentImport.mostFaults else {
                    throw Refused(description: faults.joined(separator: "\n") + "\n...")
                }
            }
        }
        return members
    }

    /// The next record; nil at the end.
    private func next(_ reader: inout CSVReader) throws(ImportError) -> CSVRecord? {
        while true {
            if let record = reader.next(isLast: isAtEnd) { return record }
            if isAtEnd { return nil }
            let bytes = try file.read()
            isAtEnd = bytes.isEmpty
            reader.append(bytes)
        }
    }
}
