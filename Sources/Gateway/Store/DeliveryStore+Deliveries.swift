import APNs
import LiveActivity
import PostgresClient

/// The rows of the table `delivery`.
extension DeliveryStore {
    /// Writes the rows of recipients that have no pending rows of their own, and removes the rows of the messages that
    /// leave with this. A message whose row another instance owns by now gets nothing, and its row stays.
    ///
    /// - Parameter leaving: messages all of whose recipients are settled after this, in the order of keys.
    func deliveries(of entries: [Entry], leaving: [Int64], owner: Int64) -> PostgresStatement {
        let staying = Set(entries.map(\.receipt.id)).subtracting(leaving).sorted()
        return PostgresStatement(
            """
            WITH removed AS (
                DELETE FROM pending
                WHERE account IS NULL AND instance_id = $26::bigint AND message_id = ANY($27::bigint[])
                RETURNING message_id
            ), message AS (
                SELECT message_id FROM removed
                UNION ALL
                SELECT message_id FROM pending
                WHERE account IS NULL AND instance_id = $26::bigint AND message_id = ANY($28::bigint[])
            )
            INSERT INTO delivery (message_id, accepted_at, account, installation, apns_id, timestamp_sent, payload_bytes,
                token_fingerprint, sent_at, sdk_app_id, la_id, event, route, route_reason, fallback, outcome, apns_status,
                apns_reason, attempts, priority, priority_reason, environment, business_id,
                answers_lost)
            SELECT row.message_id, row.accepted_at, row.account, row.installation, row.apns_id::uuid, row.timestamp_sent,
                row.payload_bytes::integer, row.token_fingerprint, row.sent_at, kind.sdk_app_id, kind.la_id, kind.event,
                kind.route, kind.route_reason, kind.fallback, kind.outcome, kind.apns_status::smallint, kind.apns_reason,
                kind.attempts::integer, kind.priority::smallint, kind.priority_reason, kind.environment,
                kind.business_id, kind.answers_lost::smallint
            FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
                $8::text[], $9::timestamptz[], $10::bigint[])
                AS row (message_id, accepted_at, account, installation, apns_id, timestamp_sent, payload_bytes,
                    token_fingerprint, sent_at, kind)
            JOIN unnest($11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::boolean[], $17::text[],
                $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[], $23::text[], $24::bigint[],
                $25::bigint[])
                WITH ORDINALITY
                AS kind (sdk_app_id, la_id, event, route, route_reason, fallback, outcome, apns_status, apns_reason,
                    attempts, priority, priority_reason, environment, business_id, answers_lost, kind) USING (kind)
            JOIN message USING (message_id)
            """,
            DeliveryColumns(entries).parameters + [.integer(owner), .integers(leaving), .integers(staying)],
        )
    }

    /// Writes the rows of recipients some of which have, had or get pending rows of their own.
    ///
    /// - Parameter mayBeRepeated: the same entries may have been written before, by a unit whose outcome is unknown.
    func deliveries(of entries: [Entry], owner: Int64, mayBeRepeated: Bool) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO delivery (message_id, accepted_at, account, installation, apns_id, timestamp_sent, payload_bytes,
                token_fingerprint, sent_at, sdk_app_id, la_id, event, route, route_reason, fallback, outcome, apns_status,
                apns_reason, attempts, priority, priority_reason, environment, business_id,
                answers_lost)
            SELECT row.message_id, row.accepted_at, row.account, row.installation, row.apns_id::uuid, row.timestamp_sent,
                row.payload_bytes::integer, row.token_fingerprint, row.sent_at, kind.sdk_app_id, kind.la_id, kind.event,
                kind.route, kind.route_reason, kind.fallback, kind.outcome, kind.apns_status::smallint, kind.apns_reason,
                kind.attempts::integer, kind.priority::smallint, kind.priority_reason, kind.environment,
                kind.business_id, kind.answers_lost::smallint
            FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
                $8::text[], $9::timestamptz[], $10::bigint[])
                AS row (message_id, accepted_at, account, installation, apns_id, timestamp_sent, payload_bytes,
                    token_fingerprint, sent_at, kind)
            JOIN unnest($11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::boolean[], $17::text[],
                $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[], $23::text[], $24::bigint[],
                $25::bigint[])
                WITH ORDINALITY
                AS kind (sdk_app_id, la_id, event, route, route_reason, fallback, outcome, apns_status, apns_reason,
                    attempts, priority, priority_reason, environment, business_id, answers_lost, kind) USING (kind)
            -- Two questions rather than one with OR, which no index answers.
            WHERE (EXISTS (
                    SELECT FROM pending WHERE pending.message_id = row.message_id AND pending.account IS NULL
                        AND pending.instance_id = $26::bigint)
                OR EXISTS (
                    SELECT FROM pending WHERE pending.message_id = row.message_id AND pending.account = row.account
                        AND pending.instance_id = $26::bigint))
                AND NOT ($27::boolean AND EXISTS (
                    SELECT FROM delivery WHERE delivery.message_id = row.message_id
                        AND delivery.accepted_at = row.accepted_at AND delivery.account = row.account))
            """,
            DeliveryColumns(entries).parameters + [.integer(owner), .boolean(mayBeRepeated)],
        )
    }
}

/// Delivery rows as the arrays of a statement. What most rows have in common goes along once, as a kind of row; each row
/// names its kind by number.
private struct DeliveryColumns {
    private struct Kind: Hashable {
        let sdkAppID: Int64
        let laID: String?
        let event: ActivityEvent?
        let route: DeliveryRecord.Route
        let routeReason: String
        let isFallback: Bool
        let outcome: DeliveryOutcome
        let status: Int?
        let statusReason: String?
        let attempts: Int
        let priority: Int?
        let priorityReason: String?
        let environment: APNsEnvironment?
        let businessID: Int64?
        let answersLost: Int

        init(_ entry: DeliveryStore.Entry, _ record: DeliveryRecord) {
            sdkAppID = entry.sdkAppID
            laID = entry.laID
            event = entry.event
            route = record.route
            routeReason = record.routeReason
            isFallback = record.isFallback
            outcome = record.outcome
            status = record.target?.status
            statusReason = record.target?.statusReason
            attempts = record.target?.attempts ?? 0
            priority = record.target?.priority
            priorityReason = record.target?.priorityReason
            environment = record.target?.environment
            businessID = record.target?.businessID
            answersLost = record.target?.answersLost ?? 0
        }
    }

    private var messages: [Int64] = []
    private var acceptTimes: [Int64?] = []
    private var accounts: [String?] = []
    private var installations: [String?] = []
    private var apnsIDs: [String?] = []
    private var timestamps: [Int64?] = []
    private var payloadBytes: [Int64?] = []
    private var fingerprints: [String?] = []
    private var sendTimes: [Int64?] = []
    private var kindNumbers: [Int64] = []
    private var kinds: [Kind] = []

    init(_ entries: [DeliveryStore.Entry]) {
        var numbers: [Kind: Int] = [:]
        var last = -1
        for entry in entries {
            guard case .finished(let records) = entry.settlement.next else { continue }
            for record in records {
                let kind = Kind(entry, record)
                // Most often the kind of the row before, which is cheaper to see than to hash.
                if last < 0 || kinds[last] != kind {
                    last = numbers[kind] ?? kinds.count
                    if last == kinds.count {
                        numbers[kind] = last
                        kinds.append(kind)
                    }
                }
                kindNumbers.append(Int64(last) + 1)
                append(entry, record.target)
            }
        }
    }

    private mutating func append(_ entry: DeliveryStore.Entry, _ target: DeliveryTarget?) {
        messages.append(entry.receipt.id)
        acceptTimes.append(entry.receipt.acceptedAt.microseconds)
        accounts.append(entry.account)
        installations.append(target?.installation)
        apnsIDs.append(DeliveryColumns.apnsID(entry, target))
        timestamps.append(target?.timestampSent)
        payloadBytes.append(target?.payloadBytes.map(Int64.init))
        fingerprints.append(target?.tokenFingerprint)
        sendTimes.append(target?.sentAt?.microseconds)
    }

    /// `$1` to `$25`.
    var parameters: [PostgresParameter] {
        [
            .integers(messages),
            .timestamps(acceptTimes),
            .texts(accounts),
            .texts(installations),
            .texts(apnsIDs),
            .integers(timestamps),
            .integers(payloadBytes),
            .texts(fingerprints),
            .timestamps(sendTimes),
            .integers(kindNumbers),
            .integers(kinds.map(\.sdkAppID)),
            .texts(kinds.map(\.laID)),
            .texts(kinds.map(\.event?.rawValue)),
            .texts(kinds.map(\.route.rawValue)),
            .texts(kinds.map(\.routeReason)),
            .booleans(kinds.map(\.isFallback)),
            .texts(kinds.map(\.outcome.rawValue)),
            .integers(kinds.map { $0.status.map(Int64.init) }),
            .texts(kinds.map(\.statusReason)),
            .integers(kinds.map { Int64($0.attempts) }),
            .integers(kinds.map { $0.priority.map(Int64.init) }),
            .texts(kinds.map(\.priorityReason)),
            .texts(kinds.map(\.environment?.rawValue)),
            .integers(kinds.map(\.businessID)),
            // More of them cannot come of attempts that are seconds apart; the column would refuse the whole batch.
            .integers(kinds.map { $0.answersLost > 0 ? min(Int64($0.answersLost), Int64(Int16.max)) : nil }),
        ]
    }

    private static func apnsID(_ entry: DeliveryStore.Entry, _ target: DeliveryTarget?) -> String? {
        guard let target, target.attempts > 0 else { return nil }
        if let sent = entry.sent, sent.kind == target.kind, sent.installation == target.installation {
            return sent.apnsID
        }
        return PushComposer.apnsID(entry.receipt.id, target.kind, entry.account, target.installation)
    }
}
