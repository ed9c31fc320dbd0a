import PostgresClient

extension DeliveryStore {
    /// A message that is to be sent later.
    struct LaterMessage: Sendable {
        let message: NewMessage
        let sendAt: UnixTime
    }

    /// Stores messages that are to be sent at once, and others that wait for their time: all or none.
    ///
    /// - Parameters:
    ///   - toAll: those of them that count against the limits of pushes to all.
    ///   - owner: as for ``accept(_:owner:)``.
    /// - Returns: what each became, in order.
    /// - Throws: ``overLimitOfPushesToAll`` where that is over one of them.
    func accept(
        _ messages: [NewMessage],
        later: [LaterMessage],
        toAll: [NewMessage] = [],
        owner: Int64?,
    ) async throws(PostgresError) -> (atOnce: [Acceptance], later: [Acceptance]) {
        let batch = AcceptBatch(messages.map(\.digest))
        let laterBatch = AcceptBatch(later.map(\.message.digest))
        var unit: [PostgresStatement] = []
        if !messages.isEmpty { unit.append(DeliveryStore.storing(messages, batch, owner: owner)) }
        if !later.isEmpty { unit.append(DeliveryStore.scheduling(later, laterBatch)) }
        unit += toAll.map(DeliveryStore.counting)
        var results = try await pool.run(unit)[...]
        var atOnce: [Acceptance] = []
        if !messages.isEmpty, let result = results.popFirst() {
            atOnce = batch.answers(try DeliveryStore.acceptances(in: result))
        }
        guard !later.isEmpty, let result = results.popFirst() else { return (atOnce, []) }
        return (atOnce, laterBatch.answers(try DeliveryStore.acceptances(in: result)))
    }

    /// A request that comes again while its message waits is a repeat however late it comes; that its digest is
    /// remembered for 120 seconds counts where the message was sent sooner.
    private static func scheduling(_ messages: [LaterMessage], _ batch: AcceptBatch) -> PostgresStatement {
        let unique = batch.firsts.map { messages[$0] }
        return PostgresStatement(
            """
            WITH new AS MATERIALIZED (
                SELECT nextval('message_id') AS id, date_trunc('microseconds', now()) AS accepted_at, input.*
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                    $8::bigint[], $9::timestamptz[], $10::bytea[], $11::bytea[], $12::bigint[], $13::text[])
                    WITH ORDINALITY AS input (sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event,
                        lifetime, send_at, content, digest, repeats, recipients, position)
                ORDER BY position
            ), waiting AS MATERIALIZED (
                SELECT known.digest, known.id, known.accepted_at, known.msg_key
                FROM new JOIN scheduled_message AS known ON known.digest = new.digest AND known.cancelled_at IS NULL
            ), remembered AS (
                INSERT INTO recent_request AS known (digest, sdk_app_id, message_id, msg_key, accepted_at, repeats)
                SELECT digest, new.sdk_app_id, coalesce(waiting.id, new.id), coalesce(waiting.msg_key, new.msg_key),
                    new.accepted_at, new.repeats::integer
                FROM new LEFT JOIN waiting USING (digest) WHERE digest IS NOT NULL
                ORDER BY digest
                ON CONFLICT (digest) DO UPDATE SET
                    message_id = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.message_id ELSE excluded.message_id END,
                    msg_key = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.msg_key ELSE excluded.msg_key END,
                    accepted_at = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.accepted_at ELSE excluded.accepted_at END,
                    repeats = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.repeats + 1 + excluded.repeats ELSE excluded.repeats END
                RETURNING digest, message_id, msg_key, accepted_at
            ), decided AS MATERIALIZED (
                SELECT new.*, coalesce(waiting.id, remembered.message_id, new.id) AS first_id,
                    coalesce(waiting.accepted_at, remembered.accepted_at, new.accepted_at) AS first_accepted_at,
                    coalesce(waiting.msg_key, remembered.msg_key, new.msg_key) AS first_key
                FROM new LEFT JOIN waiting USING (digest) LEFT JOIN remembered USING (digest)
            ), stored AS (
                INSERT INTO scheduled_message (id, accepted_at, send_at, lifetime, sdk_app_id, dialect, endpoint, msg_key,
                    sender, la_id, event, recipients, content, digest)
                SELECT id, accepted_at, send_at, lifetime, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event,
                    recipients::text[], content, digest
                FROM decided WHERE id = first_id
            )
            SELECT first_id, first_accepted_at, first_key, id <> first_id FROM decided ORDER BY position
            """,
            [
                .integers(unique.map(\.message.order.sdkAppID)),
                .texts(unique.map(\.message.order.dialect.rawValue)),
                .texts(unique.map(\.message.order.endpoint)),
                .texts(unique.map(\.message.order.messageKey)),
                .texts(unique.map(\.message.order.sender)),
                .texts(unique.map { $0.message.order.activity?.laID }),
                .texts(unique.map { $0.message.order.activity?.content.event.rawValue }),
                .integers(unique.map(\.message.order.lifetime)),
                .timestamps(unique.map(\.sendAt.microseconds)),
                .byteArrays(unique.map(\.message.content)),
                .byteArrays(unique.map { $0.message.digest?.bytes }),
                .integers(batch.repeats),
                .texts(unique.map { arrayLiteral($0.message.order.recipients) }),
            ],
        )
    }

    /// The text form of an array: an array of arrays would have to be rectangular.
    private static func arrayLiteral(_ texts: [String]) -> String {
        var literal = "{"
        for (index, text) in texts.enumerated() {
            literal += index > 0 ? ",\"" : "\""
            for character in text.unicodeScalars {
                if character == "\"" || character == "\\" { literal += "\\" }
                literal.unicodeScalars.append(character)
            }
            literal += "\""
        }
        return literal + "}"
    }

    /// How many messages wait for their time, counted up to `limit`, and for how long that of the earliest has passed.
    func schedule(upTo limit: Int64) async throws(PostgresError) -> QueueDepth.Schedule {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT count(*), greatest(0, coalesce((extract(epoch FROM now() - min(send_at)) * 1000000)::bigint, 0))
                FROM (SELECT send_at FROM scheduled_message WHERE cancelled_at IS NULL ORDER BY send_at LIMIT $1::bigint)
                    AS waiting
                """,
                [.integer(limit)],
            )
        )
        guard let row = result.rows.first else { return QueueDepth.Schedule() }
        return QueueDepth.Schedule(messages: try row.integer(0), lateMicroseconds: try row.integer(1))
    }
}
