import PostgresClient

/// The SQL of the claim.
extension DeliveryStore {
    static let claimText: StaticString = """
        UPDATE live_activity AS activity SET
            (verdict, budget_is_spent, last_message, last_timestamp, last_sent_at, end_message, last_state,
                next_message, budget_hour, budget_pushes) = (
            SELECT decided.verdict, budget.is_spent,
                CASE WHEN decided.verdict = 'claimed' THEN greatest(activity.last_message, asked.message_id)
                    ELSE activity.last_message END,
                CASE WHEN decided.verdict = 'claimed' AND NOT decided.is_same_push
                    THEN greatest(floor(date_part('epoch', clock_timestamp()))::bigint,
                        activity.last_timestamp + 1)
                    ELSE activity.last_timestamp END,
                CASE WHEN decided.verdict = 'claimed' AND NOT decided.is_same_push THEN clock_timestamp()
                    ELSE activity.last_sent_at END,
                CASE WHEN decided.verdict <> 'claimed' THEN activity.end_message
                    WHEN asked.is_end THEN asked.message_id END,
                -- Accepted unless the settlement says otherwise, which is rarer.
                CASE WHEN decided.verdict = 'claimed' THEN asked.state_digest ELSE activity.last_state END,
                -- Whoever comes next sees that a newer one waits, or has nothing to add, in whatever lane or
                -- process.
                CASE WHEN decided.verdict IN ('paced', 'unchanged')
                    THEN greatest(activity.next_message, asked.message_id)
                    ELSE activity.next_message END,
                CASE WHEN spending.is_spent_on THEN $13::bigint ELSE activity.budget_hour END,
                CASE WHEN NOT spending.is_spent_on THEN activity.budget_pushes
                    WHEN activity.budget_hour = $13::bigint THEN activity.budget_pushes + 1
                    ELSE 1 END
            FROM (
                SELECT
                    CASE
                        WHEN activity.quarantined_at IS NOT NULL THEN 'quarantined'
                        WHEN activity.end_message = asked.message_id AND activity.ended_at IS NULL THEN 'claimed'
                        WHEN activity.end_message IS NOT NULL THEN
                            CASE WHEN activity.ended_at IS NULL
                                    OR asked.accepted_at <= activity.ended_at + interval '60 seconds'
                                THEN 'activity_ended' ELSE 'not_live' END
                        WHEN clock_timestamp() >= activity.started_at
                            + CASE WHEN asked.is_end THEN interval '12 hours' ELSE interval '8 hours' END
                            THEN 'not_live'
                        -- An end always passes, and the newest claimed message may always be sent again.
                        WHEN asked.is_end OR activity.last_message = asked.message_id THEN 'claimed'
                        WHEN greatest(activity.last_message, activity.next_message) > asked.message_id
                            THEN 'superseded'
                        WHEN NOT asked.has_alert
                            AND activity.last_state = asked.state_digest
                            AND activity.last_sent_at > clock_timestamp() - interval '60 seconds'
                            THEN 'unchanged'
                        WHEN NOT asked.has_alert AND activity.last_sent_at
                                > clock_timestamp() - $12::bigint * interval '1 microsecond'
                            THEN 'paced'
                        ELSE 'claimed'
                    END AS verdict,
                    -- The same message within 10 s is a resend whose first outcome is unknown: same timestamp.
                    -- An end may be older than the newest update; once claimed, the timestamp is its own.
                    coalesce(asked.may_have_been_sent
                        AND asked.message_id IN (activity.last_message, activity.end_message)
                        AND activity.last_sent_at > clock_timestamp() - interval '10 seconds', false)
                        AS is_same_push
                -- Decided here, once, rather than wherever it is named.
                OFFSET 0
            ) AS decided
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(other.budget_pushes), 0) AS pushes FROM live_activity AS other
                WHERE decided.verdict = 'claimed' AND asked.follows_budget
                    AND other.sdk_app_id = activity.sdk_app_id AND other.account = activity.account
                    AND other.installation = activity.installation AND other.budget_hour = $13::bigint
            ) AS phone
            CROSS JOIN LATERAL (
                SELECT asked.follows_budget AND phone.pushes >= $14::bigint
                    AND (phone.pushes >= $15::bigint OR NOT coalesce(
                        (SELECT device.frequent_pushes_enabled FROM device
                        WHERE device.sdk_app_id = activity.sdk_app_id AND device.account = activity.account
                            AND device.installation = activity.installation), false)) AS is_spent
                OFFSET 0
            ) AS budget
            CROSS JOIN LATERAL (
                -- Once a message, however often it is sent.
                SELECT decided.verdict = 'claimed' AND asked.spends_budget AND NOT budget.is_spent
                    AND activity.last_message <> asked.message_id AS is_spent_on
            ) AS spending
        )
        FROM (
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[],
                $6::boolean[], $7::boolean[], $8::boolean[], $9::bigint[], $10::boolean[], $11::boolean[])
                WITH ORDINALITY AS asked (sdk_app_id, account, la_id, message_id, accepted_at, is_end, has_alert,
                    may_have_been_sent, state_digest, spends_budget, follows_budget, position)
            -- The order of keys: two instances that change the same rows never wait for each other in a
            -- circle. A few rows that are looked up one by one come in this order; should the planner ever
            -- choose otherwise, PostgreSQL ends one of the two and its claim is made again.
            ORDER BY sdk_app_id, account, la_id
        ) AS asked
        WHERE activity.sdk_app_id = asked.sdk_app_id AND activity.account = asked.account
            AND activity.la_id = asked.la_id
        RETURNING asked.position, activity.verdict, activity.installation, activity.token,
            activity.business_id, activity.environment,
            CASE WHEN activity.verdict = 'claimed' THEN activity.last_timestamp ELSE 0 END, activity.started_at,
            -- A clock that was set back must not hold it for long.
            CASE WHEN activity.verdict = 'paced' THEN least(activity.last_sent_at, clock_timestamp())
                + $12::bigint * interval '1 microsecond' END,
            activity.budget_is_spent, activity.verdict = 'claimed' AND activity.bad_days > 0,
            CASE WHEN $16::boolean THEN activity.attributes_type END,
            CASE WHEN $16::boolean THEN coalesce(activity.app_version,
                (SELECT device.app_version FROM device
                WHERE device.sdk_app_id = activity.sdk_app_id AND device.account = activity.account
                    AND device.installation = activity.installation)) END
        """

    /// The same for claims some of which are of single installations, `$17`: a message to given phones must not count as
    /// the newest on the others of their account.
    static let limitedClaimText = claimText.description
        .replacing("$11::boolean[])", with: "$11::boolean[], $17::text[])")
        .replacing("follows_budget, position)", with: "follows_budget, installations, position)")
        .replacing(
            "AND activity.la_id = asked.la_id\n",
            with: """
                AND activity.la_id = asked.la_id
                AND coalesce(activity.installation = ANY (string_to_array(asked.installations, '/')), true)

                """,
        )
}
