import APNs
import PostgresClient

/// The SQL of the table `alarm`.
final class AlarmStore {
    private let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes alarms of this gateway, and reads which of all gateways are up.
    ///
    /// - Parameters:
    ///   - writes: may be empty.
    ///   - host: this process, for people.
    /// - Returns: the alarms that do not fade and have not ended.
    func exchange(_ writes: AlarmBook.Writes, host: String) async throws(PostgresError) -> [Alarm] {
        var unit: [PostgresStatement] = []
        if !writes.raised.isEmpty {
            unit.append(raise(writes.raised, host: host))
        }
        if !writes.ended.isEmpty {
            unit.append(end(writes.ended))
        }
        unit.append(
            PostgresStatement(
                """
                SELECT kind, sdk_app_id, subject, business_id, environment, route, detail FROM alarm
                WHERE ended_at IS NULL AND fades_at IS NULL LIMIT 1000
                """
            )
        )
        guard let rows = try await pool.run(unit).last?.rows else { return [] }
        var open: [Alarm] = []
        for row in rows {
            guard let kind = Alarm.Kind(rawValue: try row.text(0)) else { continue }
            open.append(
                Alarm(
                    key: Alarm.Key(kind: kind, sdkAppID: try row.integer(1), subject: try row.text(2)),
                    businessID: try row.integerOrNil(3),
                    environment: try row.textOrNil(4).flatMap(APNsEnvironment.init(rawValue:)),
                    route: try row.textOrNil(5).flatMap(AlarmStore.route(named:)),
                    detail: try row.text(6),
                )
            )
        }
        return open
    }

    private func raise(_ rows: [(alarm: Alarm, count: Int64)], host: String) -> PostgresStatement {
        let alarms = rows.map(\.alarm)
        return PostgresStatement(
            """
            INSERT INTO alarm AS known
                (kind, sdk_app_id, subject, business_id, environment, route, detail, host, count, fades_at)
            SELECT kind, sdk_app_id, subject, business_id, environment, route, detail, $9::text, count,
                clock_timestamp() + fades_after * interval '1 second'
            FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[],
                $8::bigint[], $10::bigint[])
                AS row (kind, sdk_app_id, subject, business_id, environment, route, detail, count, fades_after)
            -- The same order in all gateways.
            ORDER BY kind, sdk_app_id, subject
            ON CONFLICT (kind, sdk_app_id, subject) DO UPDATE SET
                business_id = excluded.business_id, environment = excluded.environment, route = excluded.route,
                detail = excluded.detail, host = excluded.host, last_seen = excluded.last_seen,
                fades_at = excluded.fades_at, ended_at = NULL,
                -- What was right for less than a minute was not right.
                first_seen = CASE
                    WHEN least(known.ended_at, known.fades_at) < clock_timestamp() - interval '1 minute'
                    THEN excluded.first_seen ELSE known.first_seen END,
                count = excluded.count + CASE
                    WHEN least(known.ended_at, known.fades_at) < clock_timestamp() - interval '1 minute'
                    THEN 0 ELSE known.count END
            """,
            [
                .texts(alarms.map(\.key.kind.rawValue)),
                .integers(alarms.map(\.key.sdkAppID)),
                .texts(alarms.map(\.key.subject)),
                .integers(alarms.map(\.businessID)),
                .texts(alarms.map { $0.environment?.rawValue }),
                .texts(alarms.map { $0.route.map(AlarmStore.name(of:)) }),
                .texts(alarms.map(\.detail)),
                .integers(rows.map(\.count)),
                .text(host),
                .integers(alarms.map(\.key.kind.fadesAfterSeconds)),
            ],
        )
    }

    private func end(_ keys: [Alarm.Key]) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE alarm SET ended_at = clock_timestamp()
            FROM unnest($1::text[], $2::bigint[], $3::text[]) AS ended (kind, sdk_app_id, subject)
            WHERE alarm.kind = ended.kind AND alarm.sdk_app_id = ended.sdk_app_id AND alarm.subject = ended.subject
                AND alarm.ended_at IS NULL
            """,
            [
                .texts(keys.map(\.kind.rawValue)), .integers(keys.map(\.sdkAppID)), .texts(keys.map(\.subject)),
            ],
        )
    }

    /// The words of `delivery.route`.
    private static func name(of route: DeliveryTarget.Kind) -> String {
        switch route {
        case .activity, .start: "live_activity"
        case .device: "notification"
        }
    }

    private static func route(named name: String) -> DeliveryTarget.Kind? {
        switch name {
        case "live_activity": .activity
        case "notification": .device
        default: nil
        }
    }
}
