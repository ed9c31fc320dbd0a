import LiveActivity
import PostgresClient

extension DeliveryStore {
    /// The types and app versions of those phones that an activity's push would go to now.
    func phoneVersions(
        of activity: ActivityInstruction,
        to accounts: [String],
        in sdkAppID: Int64,
    ) async throws(PostgresError) -> [ContentReview.PhoneVersion] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT activity.attributes_type, coalesce(activity.app_version, device.app_version), count(*)
                FROM live_activity AS activity LEFT JOIN device USING (sdk_app_id, account, installation)
                WHERE activity.sdk_app_id = $1::bigint AND activity.account = ANY($2::text[])
                    AND activity.la_id = $3::text AND activity.ended_at IS NULL AND activity.quarantined_at IS NULL
                    AND activity.started_at > clock_timestamp() - $4::bigint * interval '1 microsecond'
                GROUP BY 1, 2 ORDER BY 1, 2
                """,
                [
                    .integer(sdkAppID), .texts(accounts), .text(activity.laID),
                    .integer(ActivityLife.duration(for: activity.content.event).microseconds),
                ],
            )
        )
        var phones: [ContentReview.PhoneVersion] = []
        for row in result.rows {
            phones.append(
                ContentReview.PhoneVersion(
                    attributesType: try row.textOrNil(0),
                    appVersion: try row.textOrNil(1),
                    count: try row.integer(2),
                )
            )
        }
        return phones
    }
}
