import APNs
import EventLoop
import Gateway
import Glibc
import LiveActivity
import PostgresClient

/// The checks of `livepush doctor` that need the database.
struct DatabaseDoctor {
    /// Older servers lack what the schema uses.
    private static let oldestServer: Int64 = 14
    /// A running gateway writes its heartbeat every 2 s by default.
    private static let heartbeatAge: Int64 = 30

    /// nil: there is no usable master key.
    let seal: SecretSeal?
    var report: DoctorReport
    /// The environments that certificates are for; both while there is none.
    private(set) var environments: Set<APNsEnvironment> = []
    /// The environments in which broadcast channels are used, or somebody tried to.
    private(set) var channelEnvironments: Set<APNsEnvironment> = []

    init(seal: SecretSeal?, report: DoctorReport) {
        self.seal = seal
        self.report = report
    }

    mutating func run(_ connection: PostgresConnection) async throws {
        try await checkServer(connection)
        try await checkClock(connection)
        guard try await checkSchema(connection) else { return }
        try await checkRights(connection)
        try await checkPartitions(connection)
        try await checkSecrets(connection)
        try await checkCertificates(connection)
        try await findChannels(connection)
        try await checkGateways(connection)
        try await checkAlarms(connection)
    }

    // MARK: - The database

    private mutating func checkServer(_ connection: PostgresConnection) async throws {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
                    pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean
                """
            )
        )
        guard let row = result.rows.first else { return }
        let version = try row.text(1)
        if try row.integer(0) / 10_000 < DatabaseDoctor.oldestServer {
            report.fail(
                "database",
                "PostgreSQL \(version) is too old: \(DatabaseDoctor.oldestServer) or newer is needed"
            )
        } else if try row.boolean(2) {
            report.fail("database", "PostgreSQL \(version) \(DatabaseSession.refusesWrites)")
        } else {
            report.ok("database", "PostgreSQL \(version) answers and takes writes")
        }
    }

    private mutating func checkClock(_ connection: PostgresConnection) async throws {
        let sentAt = MonotonicTime.now
        let result = try await connection.run(PostgresStatement("SELECT clock_timestamp()"))
        let roundTrip = MonotonicTime.now - sentAt
        var here = timespec()
        clock_gettime(CLOCK_REALTIME, &here)
        guard let row = result.rows.first else { return }
        let now = UnixTime(microseconds: Int64(here.tv_sec) * 1_000_000 + Int64(here.tv_nsec) / 1000)
        let (offset, margin) = (now - UnixTime(microseconds: try row.timestampMicroseconds(0)), roundTrip)
        let size = offset < .zero ? .zero - offset : offset
        let milliseconds = size.components.seconds * 1000 + size.components.attoseconds / 1_000_000_000_000_000
        let text = "this machine is \(milliseconds) ms \(offset < .zero ? "behind" : "ahead of") PostgreSQL"
        let advice = "run a time service (chrony, systemd-timesyncd) on both machines"
        if size > .seconds(60) + margin {
            report.fail("clock", "\(text); APNs refuses provider tokens of a wrong clock: \(advice)")
        } else if size > .seconds(1) + margin {
            report.warn("clock", "\(text): \(advice)")
        } else {
            report.ok("clock", text)
        }
    }

    private mutating func checkSchema(_ connection: PostgresConnection) async throws -> Bool {
        let mayLook = try await connection.run(
            PostgresStatement(
                """
                SELECT has_table_privilege(current_user, to_regclass('public.schema_migration')::oid, 'SELECT')
                    IS NOT FALSE
                """
            )
        )
        guard try mayLook.rows.first?.boolean(0) == true else {
            try await checkRights(connection)
            return false
        }
        let applied = try await SchemaMigration.applied(in: connection)
        guard applied.missing.isEmpty else {
            let names = applied.missing.map(\.name).joined(separator: ", ")
            report.fail("schema", "\(names) not applied: run livepush migrate")
            return false
        }
        let newest = SchemaMigration.newest
        if let other = applied.versions.max(), other > newest {
            report.warn(
                "schema",
                "version \(other) is of a newer release than this program, which knows \(newest); it works with it, and "
                    + "does not migrate it"
            )
        } else {
            report.ok("schema", "version \(newest), complete")
        }
        return true
    }

    /// Mirrors what Schema/roles.sql gives to livepush_gateway.
    private mutating func checkRights(_ connection: PostgresConnection) async throws {
        let needed: [(tables: [String], rights: [String])] = [
            (["schema_migration", "app", "certificate"], ["SELECT"]),
            (
                [
                    "account", "device", "live_activity", "registration_clear", "instance", "pending",
                    "recent_request", "provider_token", "channel",
                ],
                ["SELECT", "INSERT", "UPDATE", "DELETE"]
            ),
            (["message", "delivery"], ["SELECT", "INSERT"]),
            (["alarm", "channel_request"], ["SELECT", "INSERT", "UPDATE"]),
        ]
        let pairs = needed.flatMap { need in need.tables.flatMap { table in need.rights.map { (table, $0) } } }
        for (role, isLogin) in [("livepush_gateway", false), ("current_user", true)] {
            let exists = try await connection.run(
                PostgresStatement(
                    """
                    SELECT name FROM (SELECT CASE WHEN $1::text = 'current_user' THEN current_user::text ELSE $1::text END)
                        AS role (name)
                    WHERE name IN (SELECT rolname FROM pg_roles)
                    """,
                    [.text(role)],
                )
            )
            guard let name = try exists.rows.first?.text(0) else {
                report.warn(
                    "roles",
                    "there is no role \(role): run livepush migrate, which makes it or says what an administrator does"
                )
                continue
            }
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT need.privilege || ' on ' || need.relation
                    FROM unnest($2::text[], $3::text[]) AS need (relation, privilege)
                    WHERE has_table_privilege($1::text::name, to_regclass('public.' || need.relation)::oid, need.privilege)
                        IS NOT TRUE
                    UNION ALL SELECT 'USAGE on schema public' 
                    WHERE NOT has_schema_privilege($1::text::name, 'public', 'USAGE')
                    """,
                    [.text(name), .texts(pairs.map(\.0)), .texts(pairs.map(\.1))],
                )
            )
            let missing = try result.rows.map { try $0.text(0) }
            let subject = isLogin ? "login" : "roles"
            if missing.isEmpty {
                report.ok(subject, "\(name) has the rights that serve needs")
            } else if isLogin {
                let list = missing.prefix(3).joined(separator: ", ")
                report.fail(subject, "\(name) may not \(list); as the owner: GRANT livepush_gateway TO \(name)")
            } else {
                report.fail(subject, "\(name) lacks \(missing.prefix(3).joined(separator: ", ")): run livepush migrate")
            }
        }
    }

    private mutating func checkPartitions(_ connection: PostgresConnection) async throws {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT parent || to_char(day, '_YYYYMMDD')
                FROM unnest(ARRAY['message', 'delivery']) AS parent
                CROSS JOIN generate_series(
                    (now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + 2, interval '1 day') AS day
                WHERE NOT EXISTS (
                    SELECT FROM pg_inherits WHERE inhparent = ('public.' || parent)::regclass
                        AND inhrelid = to_regclass('public.' || parent || to_char(day, '_YYYYMMDD')))
                ORDER BY 1
                """
            )
        )
        let missing = try result.rows.map { try $0.text(0) }
        if missing.isEmpty {
            report.ok("partitions", "there for today and the next two days")
        } else {
            report.fail(
                "partitions",
                "\(missing.joined(separator: ", ")) missing: as the owner, SELECT create_partitions(7); running gateways "
                    + "do that every hour"
            )
        }
    }

    // MARK: - Secrets and keys

    private mutating func checkSecrets(_ connection: PostgresConnection) async throws {
        guard let seal else { return }
        let findings = try await SealedSecrets.check(seal, in: connection)
        let locked = findings.locked.intersection(["app", "certificate"])
        if !locked.isEmpty {
            let kinds = [
                ("app", "the secret keys of apps"), ("certificate", "the private keys of certificates"),
            ].filter { locked.contains($0.0) }.map { "\($0.1) (\(findings.stored[$0.0] ?? 0))" }
            report.fail(
                "master key",
                "opens none of \(kinds.joined(separator: " and none of ")): LIVEPUSH_MASTER_KEY is not the one that sealed "
                    + "them. A gateway with it is not ready (/readyz), and leaves their work to others: start it with the right one"
            )
        }
        for (table, row) in findings.unreadable where table != "provider_token" && !locked.contains(table) {
            report.fail(
                "master key",
                "does not open \(row): set the LIVEPUSH_MASTER_KEY it was sealed with, or add it again (livepush \(table) add)"
            )
        }
        for (table, row) in findings.unreadable where table == "provider_token" {
            report.warn("master key", "does not open \(row): gateways under another master key use this database")
        }
        if findings.unreadable.isEmpty {
            report.ok("master key", "opens all \(findings.count) secrets")
        }
    }

    private mutating func checkCertificates(_ connection: PostgresConnection) async throws {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT sdk_app_id, business_id, bundle_id, team_id, key_id, private_key_sealed, environment
                FROM certificate ORDER BY sdk_app_id, business_id
                """
            )
        )
        if result.rows.isEmpty {
            report.warn("certificates", "there is none, so nothing can be sent: livepush certificate add")
        }
        for row in result.rows {
            let (app, business) = (try row.integer(0), try row.integer(1))
            let subject = "certificate \(business) of app \(app)"
            let bundleID = try row.text(2)
            let scope = try row.text(6)
            environments.formUnion(APNsEnvironment.allCases.filter { scope == "both" || scope == $0.rawValue })
            guard PushTopic.isBundleID(bundleID) else {
                report.fail(subject, "'\(bundleID)' is no bundle id: livepush certificate add with --bundle-id")
                continue
            }
            // One that does not open is told already.
            guard let text = try? seal?.open(try row.bytes(5), for: SecretOwner.certificate(app, business)) else {
                continue
            }
            do throws(APNsSigningKeyError) {
                let key = try APNsSigningKey(
                    privateKey: text,
                    teamID: (try? row.text(3)) ?? "",
                    keyID: (try? row.text(4)) ?? "",
                )
                if key.verifiesItself() {
                    report.ok(subject, "\(key) signs for \(bundleID), \(scope)")
                } else {
                    report.fail(subject, "\(key) does not sign: livepush certificate add with the .p8 from Apple")
                }
            } catch {
                report.fail(subject, "\(error): livepush certificate add with the .p8 from Apple")
            }
        }
    }

    private mutating func findChannels(_ connection: PostgresConnection) async throws {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT name FROM unnest($1::text[]) AS name
                WHERE EXISTS (SELECT FROM channel WHERE environment = name)
                    OR EXISTS (SELECT FROM channel_request WHERE environment = name)
                """,
                [.texts(APNsEnvironment.allCases.map(\.rawValue))],
            )
        )
        for row in result.rows {
            channelEnvironments.formUnion(APNsEnvironment(rawValue: try row.text(0)).map { [$0] } ?? [])
        }
    }

    // MARK: - What runs

    private mutating func checkGateways(_ connection: PostgresConnection) async throws {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT host, extract(epoch FROM clock_timestamp() - heartbeat_at)::bigint FROM instance
                ORDER BY heartbeat_at DESC LIMIT 100
                """
            )
        )
        var alive: [String] = []
        var silent: [String] = []
        for row in result.rows {
            let age = try row.integer(1)
            if age <= DatabaseDoctor.heartbeatAge {
                alive.append(try row.text(0))
            } else {
                silent.append("\(try row.text(0)) (silent for \(age) s)")
            }
        }
        if !silent.isEmpty {
            report.warn("gateways", "\(silent.joined(separator: ", ")): stopped, or cut off from PostgreSQL")
        }
        if alive.isEmpty {
            report.warn("gateways", "none is running: livepush serve")
        } else {
            report.ok("gateways", "running: \(alive.joined(separator: ", "))")
        }
    }

    private mutating func checkAlarms(_ connection: PostgresConnection) async throws {
        let result = try await connection.run(
            PostgresStatement("SELECT kind, detail, what_to_do FROM alarms ORDER BY since NULLS LAST LIMIT 50")
        )
        for row in result.rows {
            report.warn(
                "alarm \(try row.text(0))",
                "\(try row.textOrNil(1) ?? "") -- \(try row.textOrNil(2) ?? "")"
            )
        }
        if result.rows.isEmpty {
            report.ok("alarms", "none")
        }
    }
}
