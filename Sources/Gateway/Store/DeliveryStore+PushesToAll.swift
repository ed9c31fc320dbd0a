import PostgresClient

/// The limits of pushes to all, which hold for all gateways together.
extension DeliveryStore {
    /// The SQLSTATE of `count_push_to_all` where a push is over a limit of its app.
    static let overLimitOfPushesToAll = "LP001"

    /// Counts a push to all. It stands after the statement that stores the message, which tells a repeat, in the same
    /// transaction, which it undoes.
    static func counting(_ message: NewMessage) -> PostgresStatement {
        PostgresStatement(
            "SELECT count_push_to_all($1::bigint, $2::bytea, $3::text)",
            [
                .integer(message.order.sdkAppID), .bytes(message.digest?.bytes),
                .text(message.order.messageKey),
            ],
        )
    }

    /// Which limit keeps the app from another push to all now, and for how long; nil: none.
    func pushToAllWait(in sdkAppID: Int64) async throws(PostgresError) -> RateLimitExceeded? {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT is_daily, microseconds FROM push_to_all_wait($1::bigint)",
                [.integer(sdkAppID)],
            )
        )
        guard let row = result.rows.first, let microseconds = try row.integerOrNil(1) else { return nil }
        return RateLimitExceeded(
            try row.boolean(0) ? .pushesToAllPerDay : .secondsBetweenPushesToAll,
            wait: .microseconds(microseconds),
        )
    }
}
