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
        /// The message's own; nil: it takes along what waits.
        var alert: ActivityAlert?
        /// When the message's own alert is not sent any more.
        var deadline: UnixTime
        /// Whether a push follows; otherwise a newer message was claimed before.
        var isClaimed: Bool
    }

    /// Remembers the alerts of those that have one, and finds for the others the older alert that did not come through.
    ///
    /// One that is under way for less than ten seconds does not go along: its own push may still bring it.
    ///
    /// - Returns: for each question, in order, the alert that the push takes along, or waits for.
    func waitingAlerts(_ questions: [AlertQuestion]) async throws(PostgresError) -> [WaitingAlert?] {
        let columns: [PostgresParameter] = [
            .integers(questions.map(\.sdkAppID)), .texts(questions.map(\.account)), .texts(questions.map(\.laID)),
            .texts(questions.map(\.installation)), .integers(questions.map(\.messageID)),
        ]
        let results = try await run([
            PostgresStatement("DELETE FROM waiting_alert WHERE until <= clock_timestamp()"),
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
                -- The order of keys, as everywhere: see the claim.
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
                SELECT asked.position, known.message_id, known.content,
                    coalesce(known.sent_at >= clock_timestamp() - interval '10 seconds', false)
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
                    WITH ORDINALITY AS asked (sdk_app_id, account, la_id, installation, message_id, takes_along, position)
                JOIN waiting_alert AS known USING (sdk_app_id, account, la_id, installation)
                WHERE asked.takes_along AND known.message_id < asked.message_id
                """,
                columns + [.booleans(questions.map { $0.alert == nil && $0.isClaimed })],
            ),
        ])
        guard let found = results.last else { throw PostgresError(.unexpectedResult(column: "(number of results)")) }
        var alerts = [WaitingAlert?](repeating: nil, count: questions.count)
        for row in found.rows {
            guard let position = Int(exactly: try row.integer(0) - 1), alerts.indices.contains(position),
                let alert = ActivityAlert(decoding: try row.bytes(2))
            else { continue }
            alerts[position] = WaitingAlert(
                messageID: try row.integer(1),
                alert: alert,
                isUnderWay: try row.boolean(3),
            )
        }
        return alerts
    }

    /// Adds to what was claimed the alerts of older updates that go along with it. An update that would overtake a push
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
        for (place, alert) in zip(places, try await waitingAlerts(questions)) {
            if alert?.isUnderWay == true {
                guard tasks[place.task].message.underWay.order.activity?.content.event != .end else { continue }
                complete[place.task][place.activity].verdict = .paced
                complete[place.task][place.activity].sendableFrom = now + .seconds(1)
            } else {
                complete[place.task][place.activity].waitingAlert = alert
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
