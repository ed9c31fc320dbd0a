import TestSupport
import Testing

extension EndToEndTests {
    /// What each role may not do. That livepush_gateway may do all it needs is shown by every other test here, whose
    /// `serve` has nothing else.
    @Suite
    struct RolesTests {
        @Test("livepush_operator cannot read secrets, tokens, content and personal text, nor write anything")
        func operatorIsHeldBack() throws {
            let database = try MigratedDatabase()
            for statement in [
                "SELECT secret_key_sealed FROM app", "SELECT private_key_sealed FROM certificate",
                "SELECT content FROM scheduled_message", "DELETE FROM scheduled_message",
                "SELECT cancel_scheduled(1, 'a', 'b')", "SELECT content FROM pending", "SELECT progress FROM pending",
                "SELECT * FROM pending",
                "SELECT token FROM device", "SELECT token FROM live_activity", "SELECT content_hash FROM device",
                "SELECT nickname FROM account", "SELECT face_url FROM account",
                "SELECT 1 FROM device WHERE token IS NULL", "SELECT device FROM device", "TABLE live_activity",
                "INSERT INTO alarm (kind, subject, detail) VALUES ('x', 'x', 'x')", "UPDATE alarm SET ended_at = now()",
                "DELETE FROM pending", "DELETE FROM delivery", "UPDATE device SET business_id = 2",
                "UPDATE certificate SET key_id = 'x'", "DELETE FROM registration_transfer",
                "SELECT nextval('message_id')", "DELETE FROM content_schema", "UPDATE app SET schema_policy = 'warn'",
                "SELECT create_partitions(7)", "SELECT clear_registrations(1, 'a', 'b', NULL, true, NULL)",
                "CREATE TABLE mine (id int)", "CREATE VIEW mine AS SELECT 1", "DROP VIEW alarms",
                "COPY device TO STDOUT", "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "SET ROLE livepush_gateway", "BEGIN; LOCK TABLE pending",
                "UPDATE segment SET name = 'x'", "TRUNCATE segment", "DELETE FROM fan_out", "DELETE FROM push_to_all",
                "SELECT count_push_to_all(1, NULL, 'x')",
            ] {
                let refusal = database.refusal(of: statement, as: .person) ?? "allowed"
                #expect(
                    refusal.contains("permission denied") || refusal.contains("must be owner"),
                    "\(statement): \(refusal)",
                )
            }
        }

        @Test("livepush_operator reads every view, and no column that tells a secret, whatever columns there are")
        func operatorReadsViews() throws {
            let database = try MigratedDatabase()
            let views = try database.sql(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'v'"
            )
            #expect(views.split(separator: "\n").count >= 5)
            for view in views.split(separator: "\n") {
                try database.sql("SELECT * FROM \(view)", as: .person)
            }
            let readable = try database.sql(
                """
                SELECT relname || '.' || attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0
                    AND has_column_privilege('livepush_operator', pg_class.oid, attnum, 'SELECT')
                    AND (format_type(atttypid, NULL) = 'bytea'
                        OR attname ~ 'sealed|secret|content|progress|^token$|nickname|face_url|hash')
                """
            )
            #expect(readable == "")
            // A new column is put here or into Schema/roles.sql.
            let withheld = try database.sql(
                """
                SELECT string_agg(relname || '.' || attname, ' ' ORDER BY relname, attname)
                FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
                    AND attnum > 0 AND NOT attisdropped
                    AND NOT has_column_privilege('livepush_operator', pg_class.oid, attnum, 'SELECT')
                """
            )
            #expect(
                withheld == """
                    account.face_url account.nickname activity_start.alert api_token.digest app.secret_key_sealed certificate.private_key_sealed \
                    device.content_hash device.token live_activity.content_hash live_activity.last_state live_activity.token \
                    pending.content pending.progress provider_token.token_sealed recent_request.digest \
                    registration_import.digest scheduled_message.content scheduled_message.digest sent_state.content start_token.content_hash start_token.token waiting_alert.content
                    """
            )
            let writable = try database.sql(
                """
                SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
                    AND has_table_privilege('livepush_operator', oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
                """
            )
            #expect(writable == "segment")
        }

        @Test("registrations are counted without a look at their deliveries, and show the newest one to who asks")
        func registrationsAreCounted() throws {
            let database = try MigratedDatabase()
            try database.sql(
                """
                INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (1, '', '{a}');
                INSERT INTO device (sdk_app_id, account, installation, token, business_id)
                VALUES (1, 'a', 'i', sha256('t'), 1), (1, 'b', 'j', sha256('u'), 1);
                INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, installation, route, route_reason,
                    fallback, outcome, apns_reason, attempts, sent_at)
                SELECT row_number() OVER (), now() - age * interval '1 minute', 1, 'a', 'i', route, 'why', false, outcome,
                    reason, 1, now()
                FROM (VALUES (3, 'notification', 'refused', 'BadTopic'), (2, 'notification', 'accepted_by_apns', NULL),
                    (1, 'live_activity', 'token_dead', 'Unregistered')) AS row (age, route, outcome, reason);
                """
            )
            let count = "SELECT kind, state, count(*) FROM registrations WHERE sdk_app_id = 1 GROUP BY kind, state"
            #expect(try database.sql(count, as: .person) == "device|live|2")
            #expect(try !database.sql("EXPLAIN \(count)", as: .person).contains("delivery_"))
            let newest =
                "SELECT account, last_push_at IS NULL, last_outcome, last_reason FROM registrations ORDER BY account"
            #expect(try database.sql(newest, as: .person) == "a|f|accepted_by_apns|why\nb|t||")
        }

        @Test("livepush_gateway cannot change the schema, what is configured or what is written down")
        func gatewayIsHeldBack() throws {
            let database = try MigratedDatabase()
            for statement in [
                "DROP TABLE pending", "ALTER TABLE pending ADD COLUMN more int", "TRUNCATE pending",
                "CREATE TABLE mine (id int)", "CREATE INDEX mine ON device (token)", "DROP VIEW registrations",
                "CREATE OR REPLACE FUNCTION lock_token(bigint, bytea) RETURNS void LANGUAGE sql AS 'SELECT 1'",
                "CREATE TRIGGER mine BEFORE INSERT ON device FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
                "UPDATE app SET administrators = '{me}'", "DELETE FROM app", "DELETE FROM certificate",
                "UPDATE certificate SET bundle_id = 'mine'", "DELETE FROM content_schema",
                "UPDATE content_schema SET version = 2",
                "INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (1, '', '{a}')",
                "INSERT INTO schema_migration (version, name) VALUES (99, 'x')", "DELETE FROM alarm",
                "UPDATE delivery SET outcome = 'accepted_by_apns'", "DELETE FROM delivery", "DELETE FROM message",
                "UPDATE message SET sender = 'x'", "SELECT * FROM registration_transfer",
                "DELETE FROM fan_out", "INSERT INTO segment (sdk_app_id, name, account) VALUES (1, 'a', 'b')",
                "DELETE FROM registration_transfer", "SELECT * FROM recent_deliveries", "SELECT * FROM alarms",
                "UPDATE push_to_all SET msg_key = 'x'", "SELECT setval('message_id', 1)", "SET ROLE livepush_operator",
                "CREATE ROLE mine",
            ] {
                let refusal = database.refusal(of: statement, as: .gateway) ?? "allowed"
                #expect(
                    refusal.contains("permission denied") || refusal.contains("must be owner"),
                    "\(statement): \(refusal)",
                )
            }
            let partition = try database.sql(
                "SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'delivery'::regclass LIMIT 1"
            )
            let refusal = database.refusal(of: "SELECT * FROM \(partition)", as: .gateway)
            #expect(refusal?.contains("permission denied") == true)
        }

        @Test("livepush_gateway makes partitions and writes into them without rights of its own on them")
        func gatewayMakesPartitions() throws {
            let database = try MigratedDatabase()
            let day = "(now() AT TIME ZONE 'UTC')::date"
            try database.sql("DO $$ BEGIN EXECUTE 'DROP TABLE delivery_' || to_char(\(day), 'YYYYMMDD'); END $$")
            #expect(try database.sql("SELECT create_partitions(7)", as: .gateway) == "1")
            try database.sql(
                """
                INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, route, route_reason, fallback, outcome,
                    attempts)
                VALUES (1, now(), 1, 'alice', 'none', 'no_device', false, 'nothing_to_send', 0)
                """,
                as: .gateway,
            )
            #expect(try database.sql("SELECT outcome FROM delivery", as: .gateway) == "nothing_to_send")
            #expect(try database.sql("SELECT outcome FROM delivery", as: .person) == "nothing_to_send")
        }

        @Test("A login without a role can do nothing")
        func nobodyIsHeldBack() throws {
            let database = try MigratedDatabase()
            for statement in [
                "SELECT * FROM public.registrations", "SELECT sdk_app_id FROM public.app",
                "SELECT public.token_fingerprint('ab'::text)", "SELECT public.create_partitions(7)",
                "CREATE TABLE public.mine (id int)",
            ] {
                let refusal = database.refusal(of: statement, as: .nobody)
                #expect(refusal?.contains("permission denied") == true, "\(statement)")
            }
            let granted = try database.sql(
                """
                SELECT proname FROM pg_proc CROSS JOIN LATERAL aclexplode(coalesce(proacl, acldefault('f', proowner)))
                WHERE pronamespace = 'public'::regnamespace AND grantee = 0
                """
            )
            #expect(granted == "")
        }

        @Test("A view hands no raw token to a function that its reader put in front of PostgreSQL's")
        func viewsIgnoreSearchPath() throws {
            let database = try MigratedDatabase()
            try database.sql(
                """
                CREATE SCHEMA trap AUTHORIZATION operator_login;
                INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (1, '', '{a}');
                INSERT INTO device (sdk_app_id, account, installation, token, business_id)
                VALUES (1, 'alice', 'phone-1', '\\xabcdef', 1);
                """
            )
            let answer = try database.sql(
                """
                CREATE FUNCTION trap.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1';
                SET search_path = trap, pg_catalog, public;
                SELECT token_fingerprint = left(encode(pg_catalog.sha256('\\xabcdef'), 'hex'), 12) FROM registrations;
                """,
                as: .person,
            )
            #expect(answer == "t")
        }

        @Test("Rights that were given to the roles by hand, or to everybody, are taken back by the next migrate")
        func migrateSetsRightsExactly() throws {
            let database = try MigratedDatabase()
            try database.sql(
                """
                GRANT ALL ON device TO livepush_operator; GRANT SELECT (secret_key_sealed) ON app TO livepush_operator;
                GRANT CREATE ON SCHEMA public TO PUBLIC; GRANT SELECT ON pending TO PUBLIC;
                GRANT EXECUTE ON FUNCTION create_partitions(integer) TO PUBLIC;
                """
            )
            let outcome = try ChildProcess.run(Paths.livepush, ["migrate", "--database-url", database.url])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("have their rights"))
            for statement in [
                "SELECT token FROM device", "SELECT secret_key_sealed FROM app", "CREATE TABLE mine (id int)",
                "SELECT content FROM pending", "SELECT create_partitions(7)",
            ] {
                #expect(database.refusal(of: statement, as: .person)?.contains("permission denied") == true)
            }
            try database.sql("SELECT * FROM registrations", as: .person)
        }

        @Test("migrate by a user who may not make roles succeeds, says the SQL, and gives the rights once that was run")
        func migrateWithoutCreateRole() throws {
            let server = try PrivatePostgres()
            defer { server.close() }
            try server.psql("CREATE ROLE plain LOGIN")
            try server.psql("CREATE DATABASE livepush OWNER plain")
            let owner = server.url(database: "livepush", as: "plain")
            func migrate() throws -> String {
                let outcome = try ChildProcess.run(Paths.livepush, ["migrate", "--database-url", owner])
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.output
            }
            let first = try migrate()
            let statements = first.split(separator: "\n").filter { $0.hasPrefix("    ") }
            #expect(statements.count == 2, "\(first)")
            #expect(first.contains("run livepush migrate again"))

            try server.psql(statements.joined(separator: "\n"))
            #expect(try migrate().contains("have their rights"))
            try server.makeLogin("reader", memberOf: "livepush_operator")
            let reader = server.url(database: "livepush", as: "reader")
            #expect(try server.psql("SELECT count(*) FROM alarms", database: reader) == "0")
        }

        @Test("Two databases of one cluster can be migrated at once: both make the same roles")
        func rolesAreMadeOnce() throws {
            let server = try PrivatePostgres()
            defer { server.close() }
            try server.psql("CREATE ROLE maker LOGIN CREATEROLE")
            let migrations = try (1...3).map { number in
                try server.psql("CREATE DATABASE livepush_\(number) OWNER maker")
                let url = server.url(database: "livepush_\(number)", as: "maker")
                return try RunningProgram(Paths.livepush, ["migrate", "--database-url", url])
            }
            for migration in migrations {
                let hasEnded = eventually(within: 40) { migration.status != nil }
                #expect(hasEnded)
                #expect(migration.status == 0, "\(migration.errors)")
                #expect(migration.output.contains("have their rights"), "\(migration.output)")
            }
        }

        @Test("Where the schema public belongs to another, migrate says what its owner must do")
        func schemaOfAnother() throws {
            let server = try PrivatePostgres()
            defer { server.close() }
            try server.psql("CREATE ROLE maker LOGIN CREATEROLE")
            try server.psql("CREATE DATABASE livepush OWNER maker")
            // As in PostgreSQL 14.
            try server.psql(
                "ALTER SCHEMA public OWNER TO postgres; GRANT ALL ON SCHEMA public TO PUBLIC",
                database: server.url(database: "livepush", as: "postgres"),
            )
            let outcome = try ChildProcess.run(
                Paths.livepush,
                ["migrate", "--database-url", server.url(database: "livepush", as: "maker")],
            )
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("REVOKE CREATE ON SCHEMA public FROM PUBLIC;"), "\(outcome.output)")
        }

        @Test("migrate --print shows the roles too")
        func printedRoles() throws {
            let outcome = try ChildProcess.run(Paths.livepush, ["migrate", "--print"])
            #expect(outcome.output.contains("TO livepush_operator"))
        }
    }
}
