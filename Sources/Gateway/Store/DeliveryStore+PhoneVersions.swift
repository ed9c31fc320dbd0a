import LiveActivity
import PostgresClient

extension DeliveryStore {
    /// What is asked of the phones that an activity's push would go to now.
    struct PhoneQuestion: Sendable {
        var sdkAppID: Int64
        var laID: String
        /// How long after its start an activity takes the push.
        var life: Duration
        var accounts: [String]
        /// The type that a start brings up, on phones that registered a start token for it; nil: it is no start.
        var startedType: String?
        /// Only the phones with these device tokens; empty: those of the accounts.
        var devices: [PushToken] = []
    }

    /// The types and app versions of the phones of one question.
    func phoneVersions(_ question: PhoneQuestion) async throws(PostgresError) -> [ContentReview.PhoneVersion] {
        guard !question.devices.isEmpty else { return try await phoneVersions([question]).first ?? [] }
        let result = try await pool.run(
            PostgresStatement(
                """
                WITH named AS (
                    SELECT account, installation, app_version FROM device
                    WHERE sdk_app_id = $1::bigint AND token = ANY($2::bytea[])
                )
                SELECT attributes_type, app_version, count(*)
                FROM (
                    SELECT activity.attributes_type, coalesce(activity.app_version, named.app_version) AS app_version
                    FROM named JOIN live_activity AS activity USING (account, installation)
                    WHERE activity.sdk_app_id = $1::bigint AND activity.la_id = $3::text
                        AND activity.ended_at IS NULL AND activity.quarantined_at IS NULL
                        AND activity.started_at > clock_timestamp() - $4::bigint * interval '1 microsecond'
                    UNION ALL
                    SELECT $5::text, coalesce(own.app_version, named.app_version)
                    FROM named JOIN start_token AS own USING (account, installation)
                    WHERE own.sdk_app_id = $1::bigint AND own.attributes_type IN ($5::text, '*')
                        AND $5::text IS NOT NULL AND own.quarantined_at IS NULL
                ) AS phone
                GROUP BY attributes_type, app_version ORDER BY attributes_type, app_version
                """,
                [
                    .integer(question.sdkAppID), .byteArrays(question.devices.map(\.bytes)), .text(question.laID),
                    .integer(question.life.microseconds), .text(question.startedType),
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

    /// The types and app versions of those phones, for each question about accounts, in order.
    func phoneVersions(_ questions: [PhoneQuestion]) async throws(PostgresError) -> [[ContentReview.PhoneVersion]] {
        func column<Value>(_ value: (PhoneQuestion) -> Value) -> [Value] {
            questions.flatMap { Array(repeating: value($0), count: $0.accounts.count) }
        }
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT position, attributes_type, app_version, count(*)
                FROM (
                    SELECT asked.position, activity.attributes_type, coalesce(activity.app_version,
                        (SELECT device.app_version FROM device
                        WHERE device.sdk_app_id = activity.sdk_app_id AND device.account = activity.account
                            AND device.installation = activity.installation)) AS app_version
                    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
                        AS asked (sdk_app_id, account, la_id, life, position)
                    JOIN live_activity AS activity USING (sdk_app_id, account, la_id)
                    WHERE activity.ended_at IS NULL AND activity.quarantined_at IS NULL
                        AND activity.started_at > clock_timestamp() - asked.life * interval '1 microsecond'
                    UNION ALL
                    SELECT asked.position, asked.attributes_type, coalesce(own.app_version,
                        (SELECT device.app_version FROM device
                        WHERE device.sdk_app_id = own.sdk_app_id AND device.account = own.account
                            AND device.installation = own.installation))
                    FROM unnest($1::bigint[], $2::text[], $6::text[], $5::bigint[])
                        AS asked (sdk_app_id, account, attributes_type, position)
                    JOIN start_token AS own ON own.sdk_app_id = asked.sdk_app_id AND own.account = asked.account
                        AND asked.attributes_type IS NOT NULL
                        AND own.attributes_type IN (asked.attributes_type, '*')
                    WHERE own.quarantined_at IS NULL
                ) AS phone
                GROUP BY position, attributes_type, app_version ORDER BY position, attributes_type, app_version
                """,
                [
                    .integers(column(\.sdkAppID)), .texts(questions.flatMap(\.accounts)), .texts(column(\.laID)),
                    .integers(column(\.life.microseconds)),
                    .integers(
                        questions.indices.flatMap { index in
                            Array(repeating: Int64(index), count: questions[index].accounts.count)
                        }
                    ),
                    .texts(column(\.startedType)),
                ],
            )
        )
        var phones = [[ContentReview.PhoneVersion]](repeating: [], count: questions.count)
        for row in result.rows {
            guard let index = Int(exactly: try row.integer(0)), phones.indices.contains(index) else { continue }
            phones[index].append(
                ContentReview.PhoneVersion(
                    attributesType: try row.textOrNil(1),
                    appVersion: try row.textOrNil(2),
                    count: try row.integer(3),
                )
            )
        }
        return phones
    }
}
