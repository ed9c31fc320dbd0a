import APNs
import PostgresClient

/// The SQL of an import.
struct ImportStore {
    /// How far an import has come.
    struct Progress: Sendable, Equatable {
        var bytesDone: Int64 = 0
        var linesDone: Int64 = 0
        var reportBytes: Int64 = 0
        var counts = ImportCounts()
        var isFinished = false
    }

    let connection: PostgresConnection
    let sdkAppID: Int64

    /// What the rules need: the app's certificates and the time. Makes the session this app's only import.
    func begin() async throws -> (businessIDs: Set<Int64>, now: UnixTime) {
        let results = try await connection.run([
            PostgresStatement(
                "SELECT pg_try_advisory_lock(hashtextextended('registrations import ' || $1::bigint, 0))",
                [.integer(sdkAppID)],
            ),
            PostgresStatement("SELECT clock_timestamp() FROM app WHERE sdk_app_id = $1::bigint", [.integer(sdkAppID)]),
            PostgresStatement(
                "SELECT business_id FROM certificate WHERE sdk_app_id = $1::bigint",
                [.integer(sdkAppID)]
            ),
            // The rows of a batch and how far it came are lost or kept together, so nothing waits for a disk. The end of
            // the import waits for all of it.
            PostgresStatement("SELECT set_config('synchronous_commit', 'off', false)"),
        ])
        guard try results[0].rows.first?.boolean(0) == true else {
            throw ImportError("another import into app \(sdkAppID) is under way")
        }
        guard let app = results[1].rows.first else { throw ImportError("there is no app \(sdkAppID)") }
        var businessIDs: Set<Int64> = []
        for row in results[2].rows {
            businessIDs.insert(try row.integer(0))
        }
        return (businessIDs, UnixTime(microseconds: try app.timestampMicroseconds(0)))
    }

    /// How far the file was imported before.
    ///
    /// - Parameter isAnew: forget that.
    func progress(of file: Identity, isAnew: Bool) async throws(PostgresError) -> Progress {
        let result = try await connection.run(
            PostgresStatement(
                """
                INSERT INTO registration_import AS known (sdk_app_id, digest, file, bytes)
                VALUES ($1::bigint, $2::bytea, $3::text, $4::bigint)
                ON CONFLICT (sdk_app_id, digest) DO UPDATE SET file = excluded.file,
                    bytes_done = CASE WHEN $5::boolean THEN 0 ELSE known.bytes_done END,
                    lines_done = CASE WHEN $5::boolean THEN 0 ELSE known.lines_done END,
                    report_bytes = CASE WHEN $5::boolean THEN 0 ELSE known.report_bytes END,
                    imported = CASE WHEN $5::boolean THEN 0 ELSE known.imported END,
                    unchanged = CASE WHEN $5::boolean THEN 0 ELSE known.unchanged END,
                    kept = CASE WHEN $5::boolean THEN 0 ELSE known.kept END,
                    refused = CASE WHEN $5::boolean THEN 0 ELSE known.refused END,
                    started_at = CASE WHEN $5::boolean THEN clock_timestamp() ELSE known.started_at END,
                    finished_at = CASE WHEN $5::boolean THEN NULL ELSE known.finished_at END
                RETURNING bytes_done, lines_done, report_bytes, imported, unchanged, kept, refused,
                    finished_at IS NOT NULL
                """,
                [
                    .integer(sdkAppID), .bytes(file.digest), .text(file.path), .integer(file.size), .boolean(isAnew),
                ],
            )
        )
        guard let row = result.rows.first else { throw PostgresError(.unexpectedResult(column: "bytes_done")) }
        return Progress(
            bytesDone: try row.integer(0),
            linesDone: try row.integer(1),
            reportBytes: try row.integer(2),
            counts: ImportCounts(
                imported: try row.integer(3),
                unchanged: try row.integer(4),
                kept: try row.integer(5),
                refused: try row.integer(6),
            ),
            isFinished: try row.boolean(7),
        )
    }

    /// What tells a file from others.
    struct Identity: Sendable {
        var digest: [UInt8]
        var size: Int64
        var path: String
    }

    /// Stores a batch, and with it how far the file is done, in one transaction; again where it lost a race.
    ///
    /// - Parameters:
    ///   - progress: as it is after this batch but for what became of its lines, which is added.
    ///   - file: nil for a stream.
    func store(
        _ batch: ImportBatch,
        replaces: Bool,
        progress: inout Progress,
        of file: Identity?,
    ) async throws(PostgresError) {
        let statement =
            if let file {
                PostgresStatement(
                    """
                    UPDATE registration_import AS known SET bytes_done = $18::bigint, lines_done = $19::bigint,
                        report_bytes = $20::bigint, refused = $21::bigint, imported = known.imported + done.imported,
                        unchanged = known.unchanged + done.unchanged, kept = known.kept + done.kept,
                        updated_at = clock_timestamp()
                    FROM import_registrations(
                        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AS done
                    WHERE known.sdk_app_id = $1 AND known.digest = $22::bytea
                    RETURNING done.imported, done.unchanged, done.kept
                    """,
                    parameters(of: batch, replaces: replaces) + [
                        .integer(progress.bytesDone), .integer(progress.linesDone), .integer(progress.reportBytes),
                        .integer(progress.counts.refused), .bytes(file.digest),
                    ],
                )
            } else {
                PostgresStatement(
                    """
                    SELECT imported, unchanged, kept FROM import_registrations(
                        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
                    """,
                    parameters(of: batch, replaces: replaces),
                )
            }
        var attempts = 0
        while true {
            do throws(PostgresError) {
                let result = try await connection.run(statement)
                guard let row = result.rows.first else { throw PostgresError(.unexpectedResult(column: "imported")) }
                progress.counts.imported += try row.integer(0)
                progress.counts.unchanged += try row.integer(1)
                progress.counts.kept += try row.integer(2)
                return
            } catch {
                guard ["23505", "40P01", "40001"].contains(error.sqlState), attempts < 3 else { throw error }
                attempts += 1
            }
        }
    }

    /// Writes down that the end was reached, and waits until all of it is on the disk.
    func finish(_ file: Identity) async throws(PostgresError) {
        _ = try await connection.run([
            PostgresStatement("SELECT set_config('synchronous_commit', 'on', true)"),
            PostgresStatement(
                """
                UPDATE registration_import SET finished_at = clock_timestamp()
                WHERE sdk_app_id = $1::bigint AND digest = $2::bytea
                """,
                [.integer(sdkAppID), .bytes(file.digest)],
            ),
        ])
    }

    /// Of the function, in its order.
    private func parameters(of batch: ImportBatch, replaces: Bool) -> [PostgresParameter] {
        let registrations = batch.lines.map(\.registration)
        func each<Value>(
            device: (DeviceRegistration) -> Value? = { _ in nil },
            activity: (ActivityRegistration) -> Value? = { _ in nil },
            start: (StartTokenRegistration) -> Value? = { _ in nil },
        ) -> [Value?] {
            registrations.map { registration in
                switch registration {
                case .device(let registration): device(registration)
                case .activity(let registration): activity(registration)
                case .start(let registration): start(registration)
                }
            }
        }
        return [
            .integer(sdkAppID),
            .texts(registrations.map(\.kind.rawValue)),
            .texts(batch.lines.map(\.account)),
            .texts(batch.lines.map(\.installation)),
            .byteArrays(each(device: \.token.bytes, activity: \.token.bytes, start: \.token.bytes)),
            .integers(each(device: \.businessID, activity: \.businessID, start: \.businessID)),
            .texts(
                each(
                    device: \.environment?.rawValue,
                    activity: \.environment?.rawValue,
                    start: \.environment?.rawValue,
                )
            ),
            .texts(each(device: \.osVersion, start: \.osVersion)),
            .texts(each(device: \.appVersion, activity: \.appVersion, start: \.appVersion)),
            .texts(each(device: \.language)),
            .texts(each(device: \.notificationPermission?.rawValue)),
            .booleans(each(device: \.frequentPushesEnabled, activity: \.frequentPushesEnabled)),
            .texts(each(activity: \.laID)),
            .texts(each(activity: \.attributesType, start: \.attributesType)),
            .timestamps(each(activity: \.startedAt?.microseconds)),
            .booleans(batch.lines.map(\.isInTurn)),
            .boolean(replaces),
        ]
    }
}

/// What became of the lines of a file.
public struct ImportCounts: Sendable, Equatable {
    /// Stored.
    public var imported: Int64 = 0
    /// Stored like this already.
    public var unchanged: Int64 = 0
    /// A phone had made or cleared the registration itself, differently: left as it was.
    public var kept: Int64 = 0
    /// Broke a rule.
    public var refused: Int64 = 0

    /// All lines.
    public var total: Int64 { imported + unchanged + kept + refused }
}
