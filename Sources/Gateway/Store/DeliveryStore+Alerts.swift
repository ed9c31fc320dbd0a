import LiveActivity
import PostgresClient

/// Alerts of updates that are not accepted yet. Asked only for apps whose Live Activity pushes have alerts, so that the
/// claim of all others costs nothing more.
extension DeliveryStore {
    /// What a claim found for one installation, of a message that has an alert or may carry an older one.
    struct AlertQuestion: Sendable {
        var sdkAppID: Int64
        var account: String
        var laID: String
        var installation: String
        var messageID: Int64
        /// The message's own, to be remembered; nil: it has none, or that is done.
        var alert: ActivityAlert?
        /// When the message's own alert is not sent any more.
        var deadline: UnixTime
        /// Whether a push follows; otherwise a newer message was claimed before, and this one has an alert.
        var isClaimed: Bool
        /// The state that is sent, where the message has no alert of its own and does not end the activity.
        var state: [UInt8]?
    }

    /// What becomes of an alert on one installation.
    struct AlertAnswer: Sendable, Equatable {
        /// The older alert that the push takes along; or one that is under way, whose answer is waited for.
        var waiting: WaitingAlert?
        /// The newer state that goes out again with the message's alert.
        var sentState: SentState?
        /// aps.timestamp of that push.
        var timestamp: Int64 = 0
    }

    /// Remembers the alerts of those that have one, and the states of those that have none; finds for the latter the older
    /// alert that did not come through. An alert whose message is overtaken at its first claim goes out with the state that
    /// was sent last, if that had none.
    ///
    /// One that is under way for less than ten seconds is left alone: its own push may still bring it.
    ///
    /// - Returns: for each question, in order, what follows.
    func alertAnswers(_ questions: [AlertQuestion]) async throws(PostgresError) -> [AlertAnswer] {
        let columns: [PostgresParameter] = [
            .integers(questions.map(\.sdkAppID)), .texts(questions.map(\.account)), .texts(questions.map(\.laID)),
            .texts(questions.map(\.installation)), .integers(questions.map(\.messageID)),
        ]
        let takesAlong = PostgresParameter.booleans(questions.map { $0.alert == nil && $0.isClaimed })
        let isOvertaken = PostgresParameter.booleans(questions.map { !$0.isClaimed })
        let results = try await run([
            PostgresStatement("DELETE FROM waiting_alert WHERE until <= clock_timestamp()"),
            PostgresStatement(
                """
                -- Of an alert and a newer state that meet here at the same time one has to see the other.
                SELECT FROM live_activity AS activity
                JOIN unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
                    AS asked (sdk_app_id, account, la_id, installation)
                    USING (sdk_app_id, account, la_id, installation)
                -- The order of keys, as everywhere: see the claim.
                ORDER BY sdk_app_id, account, la_id, installation FOR NO KEY UPDATE OF activity
                """,
                Array(columns.prefix(4)),
            ),
            PostgresStatement(
                """
                INSERT INTO waiting_alert AS known
                    (sdk_app_id, account, la_id, installation, message_id, content, sent_at, until)
                SELECT sdk_app_id, account, la_id, installation, message_id, content,
                    CASE WHEN is_claimed THEN clock_timestamp() END, until
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[],
                    $7::timestamptz[], $8::boolean[])
                    AS own (sdk_app_id, account, la_id, installation, message_id, content, until, is_claimed)
                -- It may have been cleared since the claim.
                JOIN live_activity USING (sdk_app_id, account, la_id, installation)
                WHERE content IS NOT NULL AND until > clock_timestamp()
                ORDER BY sdk_app_id, account, la_id, installation
                ON CONFLICT (sdk_app_id, account, la_id, installation) DO UPDATE SET
                    message_id = excluded.message_id, content = excluded.content, sent_at = excluded.sent_at,
                    until = excluded.until
                WHERE known.message_id <= excluded.message_id
                """,
                columns + [
                    .byteArrays(questions.map { $0.alert?.encoded() }),
                    .timestamps(questions.map(\.deadline.microseconds)),
                    .booleans(questions.map(\.isClaimed)),
                ],
            ),
            PostgresStatement(
                """
                INSERT INTO sent_state AS known
                    (sdk_app_id, account, la_id, installation, message_id, content, sent_at)
                SELECT sdk_app_id, account, la_id, installation, message_id, content, clock_timestamp()
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[])
                    AS own (sdk_app_id, account, la_id, installation, message_id, content)
                JOIN live_activity USING (sdk_app_id, account, la_id, installation)
                WHERE content IS NOT NULL
                ORDER BY sdk_app_id, account, la_id, installation
                ON CONFLICT (sdk_app_id, account, la_id, installation) DO UPDATE SET
                    message_id = excluded.message_id, content = excluded.content, sent_at = excluded.sent_at
                WHERE known.message_id <= excluded.message_id
                """,
                columns + [.byteArrays(questions.map(\.state))],
            ),
            PostgresStatement(
                """
                DELETE FROM sent_state AS known
                USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
                    AS own (sdk_app_id, account, la_id, installation, message_id, is_without)
                WHERE own.is_without AND known.sdk_app_id = own.sdk_app_id AND known.account = own.account
                    AND known.la_id = own.la_id AND known.installation = own.installation
                    AND known.message_id < own.message_id
                """,
                columns + [.booleans(questions.map { $0.isClaimed && $0.state == nil })],
            ),
            PostgresStatement(
                """
                SELECT asked.position, known.message_id, known.content
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[], $7::boolean[])
                    WITH ORDINALITY AS asked (sdk_app_id, account, la_id, installation, message_id, takes_along,
                        is_overtaken, position)
                JOIN waiting_alert AS known USING (sdk_app_id, account, la_id, installation)
                WHERE known.sent_at >= clock_timestamp() - interval '10 seconds'
                    AND (asked.takes_along AND known.message_id < asked.message_id
                        OR asked.is_overtaken AND known.message_id = asked.message_id)
                """,
                columns + [takesAlong, isOvertaken],
            ),
            PostgresStatement(
                """
                UPDATE waiting_alert AS known SET sent_at = clock_timestamp()
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
                    WITH ORDINALITY AS asked (sdk_app_id, account, la_id, installation, message_id, takes_along, position)
                WHERE asked.takes_along AND known.sdk_app_id = asked.sdk_app_id AND known.account = asked.account
                    AND known.la_id = asked.la_id AND known.installation = asked.installation
                    AND known.message_id < asked.message_id
                    AND coalesce(known.sent_at < clock_timestamp() - interval '10 seconds', true)
                RETURNING asked.position, known.message_id, known.content
                """,
                columns + [takesAlong],
            ),
            PostgresStatement(
                """
                WITH resent AS (
                    UPDATE live_activity AS activity SET
                        last_timestamp = greatest(floor(date_part('epoch', clock_timestamp()))::bigint,
                            activity.last_timestamp + 1),
                        last_sent_at = clock_timestamp()
                    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
                        WITH ORDINALITY AS asked (sdk_app_id, account, la_id, installation, message_id, is_overtaken,
                            position)
                    JOIN waiting_alert AS alert USING (sdk_app_id, account, la_id, installation, message_id)
                    JOIN sent_state AS state USING (sdk_app_id, account, la_id, installation)
                    WHERE asked.is_overtaken AND activity.sdk_app_id = asked.sdk_app_id
                        AND activity.account = asked.account AND activity.la_id = asked.la_id
                        AND activity.installation = asked.installation AND activity.end_message IS NULL
                        -- What was claimed since, or has an alert of its own, is not kept here: it takes the alert along, or
                        -- stands in for it.
                        AND state.message_id = activity.last_message
                        AND coalesce(alert.sent_at < clock_timestamp() - interval '10 seconds', true)
                    RETURNING asked.position, state.message_id AS state_message_id, state.content,
                        activity.last_timestamp, activity.sdk_app_id, activity.account, activity.la_id,
                        activity.installation
                ), marked AS (
                    UPDATE waiting_alert AS known SET sent_at = clock_timestamp() FROM resent
                    WHERE known.sdk_app_id = resent.sdk_app_id AND known.account = resent.account
                        AND known.la_id = resent.la_id AND known.installation = resent.installation
                )
                SELECT position, state_message_id, content, last_timestamp FROM resent
                """,
                columns + [isOvertaken],
            ),
        ])
        guard results.count == 8 else { throw PostgresError(.unexpectedResult(column: "(number of results)")) }
        var answers = [AlertAnswer](repeating: AlertAnswer(), count: questions.count)
        for (index, isUnderWay) in [(5, true), (6, false)] {
            for row in results[index].rows {
                guard let position = Int(exactly: try row.integer(0) - 1), answers.indices.contains(position),
                    let alert = ActivityAlert(decoding: try row.bytes(2))
                else { continue }
                answers[position].waiting = WaitingAlert(
                    messageID: try row.integer(1),
                    alert: alert,
                    isUnderWay: isUnderWay,
                )
            }
        }
        for row in results[7].rows {
            guard let position = Int(exactly: try row.integer(0) - 1), answers.indices.contains(position),
                let state = SentState(of: try row.integer(1), decoding: try row.bytes(2))
            else { continue }
            answers[position].sentState = state
            answers[position].timestamp = try row.integer(3)
        }
        return answers
    }

    /// Forgets states that no older message's alert can have to go along with any more: all of those are finished, and
    /// what was being accepted is there by now.
    func forgetSentStates() async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                DELETE FROM sent_state
                WHERE sent_at < clock_timestamp() - interval '8 hours'
                    OR sent_at < clock_timestamp() - interval '1 minute' AND message_id <= coalesce(
                        (SELECT min(message_id) FROM pending WHERE account IS NULL), 9223372036854775807)
                """
            )
        )
    }

    /// Adds to what was claimed the alerts of older updates that go along with it, and to what was overtaken the state with
    /// which its own alert goes out. An update that would overtake a push
    /// with an alert waits a moment for its answer: it takes the alert along if that push does not come through. An end
    /// waits for nothing.
    func addingAlerts(
        to found: [[ClaimedActivity]],
        of tasks: [RecipientTask],
        at now: UnixTime,
    ) async throws(PostgresError) -> [[ClaimedActivity]] {
        var places: [(task: Int, activity: Int)] = []
        var questions: [AlertQuestion] = []
        for (number, task) in tasks.enumerated() where task.mayMeetAlerts {
            for (index, activity) in found[number].enumerated() {
                guard let question = task.alertQuestion(on: activity) else { continue }
                places.append((number, index))
                questions.append(question)
            }
        }
        guard !questions.isEmpty else { return found }
        var complete = found
        for (place, answer) in zip(places, try await alertAnswers(questions)) {
            if answer.waiting?.isUnderWay == true {
                guard tasks[place.task].message.underWay.order.activity?.content.event != .end else { continue }
                complete[place.task][place.activity].verdict = .paced
                complete[place.task][place.activity].sendableFrom = now + .seconds(1)
            } else if let state = answer.sentState {
                complete[place.task][place.activity].verdict = .claimed
                complete[place.task][place.activity].timestamp = answer.timestamp
                complete[place.task][place.activity].sentState = state
            } else {
                complete[place.task][place.activity].waitingAlert = answer.waiting
            }
        }
        return complete
    }

    /// What became of the alerts that pushes carried.
    func alertCorrections(of entries: [Entry]) -> [PostgresStatement] {
        var (done, failed) = (CarriedAlerts(), CarriedAlerts())
        for entry in entries {
            for correction in entry.settlement.corrections {
                switch correction.change {
                case .alertSettled(let messageID): done.append(entry, correction, messageID)
                case .alertNotSent(let messageID): failed.append(entry, correction, messageID)
                default: break
                }
            }
        }
        var statements: [PostgresStatement] = []
        if !failed.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE waiting_alert AS known SET sent_at = NULL
                    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                        AS failed (sdk_app_id, account, la_id, installation, message_id)
                    WHERE known.sdk_app_id = failed.sdk_app_id AND known.account = failed.account
                        AND known.la_id = failed.la_id AND known.installation = failed.installation
                        AND known.message_id = failed.message_id
                    """,
                    failed.columns,
                )
            )
        }
        if !done.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    DELETE FROM waiting_alert AS known
                    USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                        AS done (sdk_app_id, account, la_id, installation, message_id)
                    WHERE known.sdk_app_id = done.sdk_app_id AND known.account = done.account
                        AND known.la_id = done.la_id AND known.installation = done.installation
                        AND known.message_id = done.message_id
                    """,
                    done.columns,
                )
            )
        }
        return statements
    }

    /// Alerts as the columns of a statement.
    private struct CarriedAlerts {
        private var rows: [(entry: Entry, installation: String?, messageID: Int64)] = []

        var isEmpty: Bool { rows.isEmpty }

        mutating func append(_ entry: Entry, _ correction: RegistrationCorrection, _ messageID: Int64) {
            rows.append((entry, correction.installation, messageID))
        }

        var columns: [PostgresParameter] {
            [
                .integers(rows.map(\.entry.sdkAppID)), .texts(rows.map(\.entry.account)),
                .texts(rows.map(\.entry.laID)),
                .texts(rows.map(\.installation)), .integers(rows.map(\.messageID)),
            ]
        }
    }
}
