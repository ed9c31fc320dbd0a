import APNs
import LiveActivity
import PostgresClient

/// The SQL of the tables `channel` and `channel_request`.
final class ChannelStore {
    private let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A request that is written down, and may go out now.
    struct Begun {
        let id: Int64
        let requestID: String
        /// Of a push.
        var timestamp: Int64 = 0
    }

    /// How a request ended.
    struct End {
        var outcome: String
        var status: Int?
        var reason: String?
        var mayHaveBeenProcessed = false
    }

    // MARK: - What is known

    /// What is known of a channel's storage; nil if nothing is.
    func storage(of channelID: String, _ target: ChannelTarget) async throws(PostgresError) -> ChannelStorage? {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT storage FROM channel WHERE sdk_app_id = $1::bigint AND bundle_id = $2::text
                    AND environment = $3::text AND channel_id = $4::text
                """,
                place(target) + [.text(channelID)],
            )
        )
        return try result.rows.first.flatMap { (row) throws(PostgresError) in ChannelStorage(word: try row.text(0)) }
    }

    /// What is known of the storage of all channels.
    func storages(_ target: ChannelTarget) async throws(PostgresError) -> [String: ChannelStorage] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT channel_id, storage FROM channel
                WHERE sdk_app_id = $1::bigint AND bundle_id = $2::text AND environment = $3::text
                """,
                place(target),
            )
        )
        var storages: [String: ChannelStorage] = [:]
        for row in result.rows {
            storages[try row.text(0)] = ChannelStorage(word: try row.text(1))
        }
        return storages
    }

    /// All that is known of one channel. Reads.
    func state(of channelID: String, _ target: ChannelTarget) async throws(PostgresError) -> ChannelState {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT known.storage, known.created_at, known.last_timestamp,
                    last.operation, last.requested_at, last.outcome, last.apns_reason
                FROM (VALUES (1)) AS one
                LEFT JOIN channel AS known ON known.sdk_app_id = $1::bigint AND known.bundle_id = $2::text
                    AND known.environment = $3::text AND known.channel_id = $4::text
                LEFT JOIN LATERAL (
                    SELECT operation, requested_at, outcome, apns_reason FROM channel_request
                    WHERE sdk_app_id = $1::bigint AND bundle_id = $2::text AND environment = $3::text
                        AND channel_id = $4::text
                    ORDER BY requested_at DESC LIMIT 1
                ) AS last ON true
                """,
                place(target) + [.text(channelID)],
            )
        )
        let row = try ChannelStore.only(result)
        var last: ChannelState.Request?
        if let operation = try row.textOrNil(3) {
            last = ChannelState.Request(
                operation: operation,
                at: UnixTime(microseconds: try row.timestampMicroseconds(4)),
                outcome: try row.textOrNil(5),
                reason: try row.textOrNil(6),
            )
        }
        return ChannelState(
            storage: try row.textOrNil(0).flatMap { ChannelStorage(word: $0) },
            createdAt: try row.timestampMicrosecondsOrNil(1).map(UnixTime.init(microseconds:)),
            lastTimestamp: try row.integerOrNil(2) ?? 0,
            lastRequest: last,
        )
    }

    // MARK: - Requests

    /// Writes down a request that is no push.
    func begin(
        _ operation: String,
        channelID: String?,
        by order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(PostgresError) -> Begun {
        let result = try await pool.run(
            PostgresStatement(
                """
                INSERT INTO channel_request
                    (sdk_app_id, bundle_id, environment, business_id, requested_by, operation, channel_id)
                VALUES ($1::bigint, $2::text, $3::text, $4::bigint, $5::text, $6::text, $7::text)
                RETURNING id, request_id::text
                """,
                place(target) + [
                    .integer(order.businessID), .text(order.requestedBy), .text(operation), .text(channelID),
                ],
            )
        )
        let row = try ChannelStore.only(result)
        return Begun(id: try row.integer(0), requestID: try row.text(1))
    }

    /// Writes down a push, and claims a timestamp above that of every push to the channel before, whichever gateway sent it.
    func begin(
        _ push: LiveActivityPush,
        to channelID: String,
        storing storage: ChannelStorage,
        warnings: [PayloadFinding],
        by order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(PostgresError) -> Begun {
        let result = try await pool.run(
            PostgresStatement(
                """
                WITH claimed AS (
                    INSERT INTO channel AS known (sdk_app_id, bundle_id, environment, channel_id, storage, last_timestamp)
                    VALUES ($1::bigint, $2::text, $3::text, $7::text, $8::text,
                        floor(extract(epoch FROM clock_timestamp()))::bigint)
                    ON CONFLICT (sdk_app_id, bundle_id, environment, channel_id) DO UPDATE SET
                        last_timestamp = greatest(excluded.last_timestamp, known.last_timestamp + 1)
                    RETURNING last_timestamp
                )
                INSERT INTO channel_request
                    (sdk_app_id, bundle_id, environment, business_id, requested_by, operation, channel_id, event, priority,
                    expiration, payload_bytes, warnings, timestamp_sent)
                SELECT $1::bigint, $2::text, $3::text, $4::bigint, $5::text, $6::text, $7::text, $9::text, $10::bigint,
                    $11::bigint, $12::bigint, $13::text[], last_timestamp
                FROM claimed
                RETURNING id, request_id::text, timestamp_sent
                """,
                place(target) + [
                    .integer(order.businessID), .text(order.requestedBy), .text("send"), .text(channelID),
                    .text(storage.word), .text(push.content.event.rawValue), .integer(Int64(push.priority)),
                    .integer(push.expiration), .integer(Int64(push.payload.count)),
                    .texts(warnings.map { "\($0.name): \($0.code.rawValue)" }),
                ],
            )
        )
        let row = try ChannelStore.only(result)
        return Begun(id: try row.integer(0), requestID: try row.text(1), timestamp: try row.integer(2))
    }

    /// Writes down how a request ended.
    func finish(_ request: Begun, _ end: End) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE channel_request SET answered_at = clock_timestamp(), outcome = $2::text, apns_status = $3::bigint,
                    apns_reason = $4::text, may_have_been_processed = $5::boolean
                WHERE id = $1::bigint
                """,
                [
                    .integer(request.id), .text(end.outcome), .integer(end.status.map { Int64($0) }), .text(end.reason),
                    .boolean(end.mayHaveBeenProcessed),
                ],
            )
        )
    }

    // MARK: - Channels

    /// A channel was created by a request.
    func created(_ id: String, _ storage: ChannelStorage, by request: Begun, _ target: ChannelTarget)
        async
        throws(PostgresError)
    {
        _ = try await pool.run([
            PostgresStatement(
                """
                INSERT INTO channel (sdk_app_id, bundle_id, environment, channel_id, storage, created_at)
                VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::text, clock_timestamp())
                ON CONFLICT (sdk_app_id, bundle_id, environment, channel_id) DO NOTHING
                """,
                place(target) + [.text(id), .text(storage.word)],
            ),
            PostgresStatement(
                "UPDATE channel_request SET channel_id = $2::text WHERE id = $1::bigint",
                [.integer(request.id), .text(id)],
            ),
        ])
    }

    /// APNs has no such channel any more.
    func forget(_ id: String, _ target: ChannelTarget) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                DELETE FROM channel WHERE sdk_app_id = $1::bigint AND bundle_id = $2::text AND environment = $3::text
                    AND channel_id = $4::text
                """,
                place(target) + [.text(id)],
            )
        )
    }

    private func place(_ target: ChannelTarget) -> [PostgresParameter] {
        [.integer(target.sdkAppID), .text(target.certificate.bundleID), .text(target.environment.rawValue)]
    }

    private static func only(_ result: PostgresResult) throws(PostgresError) -> PostgresRow {
        guard let row = result.rows.first else {
            throw PostgresError(.unexpectedResult(column: "(the channel request)"))
        }
        return row
    }
}
