import PostgresClient

extension MessageRecordStore {
    /// How many pushes there were for messages of an app that were accepted from `start` until before `end`. What still
    /// waits is not among them.
    ///
    /// - Parameter endpoints: routes whose messages to audiences do not count.
    public func pushCounts(
        from start: UnixTime,
        to end: UnixTime,
        in sdkAppID: Int64,
        exceptThrough endpoints: [String],
    ) async throws(GatewayUnavailable) -> PushCounts {
        do throws(PostgresError) {
            let result = try await pool.run(
                PostgresStatement(
                    """
                    SELECT count(*), count(*) FILTER (WHERE outcome = 'accepted_by_apns') FROM delivery
                    WHERE sdk_app_id = $1::bigint AND accepted_at >= $2::timestamptz AND accepted_at < $3::timestamptz
                        AND installation IS NOT NULL
                        AND message_id NOT IN (
                            SELECT message.id FROM fan_out
                            JOIN message ON message.id = fan_out.message_id
                                AND message.accepted_at = fan_out.accepted_at
                            WHERE fan_out.sdk_app_id = $1::bigint AND fan_out.accepted_at >= $2::timestamptz
                                AND fan_out.accepted_at < $3::timestamptz AND message.endpoint = ANY ($4::text[]))
                    """,
                    [
                        .integer(sdkAppID), .timestamp(microsecondsSinceUnixEpoch: start.microseconds),
                        .timestamp(microsecondsSinceUnixEpoch: end.microseconds), .texts(endpoints),
                    ],
                )
            )
            guard let row = result.rows.first else { throw PostgresError(.unexpectedResult(column: "count")) }
            return PushCounts(all: try row.integer(0), acceptedByAPNs: try row.integer(1))
        } catch {
            throw GatewayUnavailable(error, logger: logger)
        }
    }
}
