import TestSupport
import Testing

extension EndToEndTests {
    /// Schema/queries.md: each query is run as livepush_operator on rows that have an answer.
    @Suite
    struct QueriesTests {
        /// For each question, lines of its answer, columns separated by `|`; `...` stands for anything.
        private static let answers: [(question: String, lines: [String])] = [
            (
                "What must I act on?",
                [
                    "signing_key_refused|1400000000|2|production|FGHIJ67890|...|7|APNs refuses the signing key...",
                    "pushes_without_certificate|1400000000||||...|1|...", "backlog|...",
                    "registrations_without_certificate|1400000000|9||||1|...businessId 9...",
                ]
            ),
            (
                "Which app's key fails?",
                [
                    "1400000000|1|com.example.shop|sandbox|ABCDE12345|degraded||BadDeviceToken|1|...",
                    "1400000000|2|com.example.shop|production|FGHIJ67890|failing|APNs refuses the signing key...|...",
                ]
            ),
            (
                "Who is registered for an activity?",
                [
                    "alice|phone-1|live|sandbox|...|accepted_by_apns|activity_registered",
                    "dora|phone-4|expired|...",
                ]
            ),
            (
                "What has an account registered?",
                ["phone-1|activity|order-1|live|1|sandbox|1.2|18.1|...", "phone-1|device||live|1|..."]
            ),
            (
                "Why did an account not get it?",
                [
                    "...|2_2_2||order-1|update|||retrying|no certificate for the businessId...|0",
                    "...|4_4_4||||||retrying|under way|0",
                    "...|1_2_3|phone-2|order-1|update|live_activity|activity_registered|token_dead|Unregistered|1",
                    "...|1_2_3|phone-2|order-1|update|notification|activity_push_refused|accepted_by_apns||1",
                ]
            ),
            (
                "Why did a phone show it twice, or although it was not accepted?",
                ["...|1_2_3|phone-2|order-1|update|accepted_by_apns|1|1|"]
            ),
            (
                "What became of one message?",
                [
                    "alice|phone-1|live_activity|f|accepted_by_apns|200||00:00:00.2",
                    "bob|phone-2|live_activity|f|token_dead|410|Unregistered|...",
                    "carol||none|f|nothing_to_send|||...",
                ]
            ),
            (
                "Whose token did Xcode print?",
                ["1400000000|alice|phone-1|device|...", "1400000000|alice|phone-1|activity|order-1|live|sandbox|..."]
            ),
            ("What was sent to that token?", ["...|alice|order-1|update|live_activity|accepted_by_apns|200|..."]),
            (
                "What waits, and why?",
                [
                    "1400000000|no certificate for the businessId of its registration...|1|...",
                    "1400000000|a fault inside APNs (InternalServerError)|1|...", "1400000000|under way|1|...",
                ]
            ),
            (
                "What waits for one account?",
                ["2_2_2|order-1|update|...|0|no certificate for the businessId...|...", "4_4_4|||...||0|under way|..."]
            ),
            (
                "How far are messages to audiences, and why did they end?",
                ["1400000000|...|segments|{vip}|{}||under way|500||...|"]
            ),
            ("Who is in a segment?", ["alice|all phones|...", "bob|phone-2|..."]),
            ("How does somebody get into a segment, and out of it?", ["carol"]),
            ("Which tokens died today?", ["1400000000|bob|phone-2|order-1|...|Unregistered|sandbox|..."]),
            ("Which was the slowest hour?", ["...|1|7...|7...", "...|2|0.2...|0.2..."]),
            (
                "Which share has each outcome, hour by hour?",
                ["...|accepted_by_apns|2|40.0", "...|token_dead|1|20.0", "...|accepted_by_apns|1|100.0"]
            ),
            (
                "Why do Live Activity pushes become notifications?",
                ["activity_push_refused|accepted_by_apns|1|1"]
            ),
            ("Who sends most?", ["1400000000|shop|3|5", "1400000000|administrator|2|2"]),
            (
                "Who gets most updates, and may run out of its budget?",
                ["1400000000|alice|phone-1|order-1|1"]
            ),
            ("Who could not be reached at all?", ["1400000000|carol|no_device|1|..."]),
            (
                "Who took whose installation?",
                ["...|1400000000|phone-2|erin|bob|installation|1|2"]
            ),
            ("What did a phone clear lately?", ["...|activity|order-8|5"]),
            (
                "Which activities run into their eight hours within the next hour?",
                ["1400000000|frank|order-6|phone-6|..."]
            ),
            (
                "Which versions of the app and of iOS are out there?",
                ["1400000000|1|1.2|18.1|2", "1400000000|9||17.0|1"]
            ),
            ("Which gateways run, and what does each work on?", ["...|host-1 4711|...|1", "...|host-2 4712|...|0"]),
            (
                "What was wrong lately, and is right again?",
                ["topic_refused|1400000000|1|sandbox|...|3|the key ABCDE12345 may not..."]
            ),
            ("How large is each day?", ["delivery_...|...", "message_...|..."]),
        ]

        @Test("Every question of the page is answered, as livepush_operator")
        func everyQuestionIsAnswered() throws {
            let page = try Readme(file: "Schema/queries.md")
            let questions = page.questions
            #expect(questions.map(\.question) == Self.answers.map(\.question))

            let database = try MigratedDatabase()
            try database.sql(Self.rows)
            for (question, block) in questions {
                #expect(block.tag == "sql", "line \(block.line)")
                let answer = try database.sql(block.text, as: .person)
                let lines = answer.split(separator: "\n", omittingEmptySubsequences: false)
                for expected in Self.answers.first(where: { $0.question == question })?.lines ?? [] {
                    #expect(lines.contains { Self.line($0, matches: expected) }, "\(question): \(expected)\n\(answer)")
                }
            }
        }

        private static func line(_ line: Substring, matches pattern: String) -> Bool {
            var parts = pattern.ranges(of: "...").isEmpty ? [pattern[...]] : []
            if parts.isEmpty {
                var from = pattern.startIndex
                for range in pattern.ranges(of: "...") {
                    parts.append(pattern[from..<range.lowerBound])
                    from = range.upperBound
                }
                parts.append(pattern[from...])
            }
            guard parts.count > 1 else { return line == pattern }
            guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
            var rest = line.dropFirst(parts[0].count)
            for part in parts.dropFirst().dropLast() {
                guard let found = rest.firstRange(of: part) else { return false }
                rest = rest[found.upperBound...]
            }
            return rest.hasSuffix(parts[parts.count - 1])
        }

        /// Five messages: one of now to alice, bob and carol; one that came slowly hours ago; three that wait.
        private static let rows = """
            INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (1400000000, '', '{administrator}');
            INSERT INTO certificate VALUES
                (1400000000, 1, 'com.example.shop', 'TEAM123456', 'ABCDE12345', '', 'sandbox', now() - interval '1 day', now() - interval '1 day'),
                (1400000000, 2, 'com.example.shop', 'TEAM654321', 'FGHIJ67890', '', 'production', now() - interval '1 day', now() - interval '1 day');
            INSERT INTO instance (host) VALUES ('host-1 4711'), ('host-2 4712');
            INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment, app_version, os_version)
            VALUES
                (1400000000, 'alice', 'phone-1', decode('80b6d1c4f3a29e5807d6c5b4a3f2e1d0c9b8a7968574635241302f1e0d9c8b7a', 'hex'), 1, 'sandbox', '1.2', '18.1'),
                (1400000000, 'bob', 'phone-2', '\\x02', 1, 'sandbox', '1.2', '18.1'),
                (1400000000, 'gina', 'phone-7', '\\x07', 9, NULL, NULL, '17.0');
            INSERT INTO live_activity (sdk_app_id, account, la_id, installation, token, business_id, environment, started_at)
            VALUES
                (1400000000, 'alice', 'order-1', 'phone-1', decode('80b6d1c4f3a29e5807d6c5b4a3f2e1d0c9b8a7968574635241302f1e0d9c8b7a', 'hex'), 1, 'sandbox', now()),
                (1400000000, 'dora', 'order-1', 'phone-4', '\\x04', 1, NULL, now() - interval '9 hours'),
                (1400000000, 'frank', 'order-6', 'phone-6', '\\x06', 1, NULL, now() - interval '7 hours 30 minutes');
            INSERT INTO registration_transfer (sdk_app_id, installation, from_account, to_account, reason, devices, activities)
            VALUES (1400000000, 'phone-2', 'erin', 'bob', 'installation', 1, 2);
            INSERT INTO registration_clear (sdk_app_id, installation, kind, la_id, sequence)
            VALUES (1400000000, 'phone-3', 'activity', 'order-8', 5);

            INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
            VALUES
                (1, now() - interval '5 hours', 1400000000, 'tencent', 'openim/sendmsg', '1_1_1', 'shop', 'order-1', 'update', 1),
                (2, now(), 1400000000, 'tencent', 'openim/batchsendmsg', '1_2_3', 'shop', 'order-1', 'update', 3),
                (3, now() - interval '10 minutes', 1400000000, 'tencent', 'openim/sendmsg', '2_2_2', 'shop', 'order-1', 'update', 1),
                (4, now() - interval '4 hours', 1400000000, 'tencent', 'openim/sendmsg', '3_3_3', 'administrator', NULL, NULL, 1),
                (5, now() - interval '4 hours', 1400000000, 'tencent', 'openim/sendmsg', '4_4_4', 'administrator', NULL, NULL, 1);
            INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, installation, la_id, event, route,
                route_reason, fallback, outcome, apns_status, apns_reason, attempts, priority, token_fingerprint,
                environment, business_id, sent_at, finished_at)
            SELECT message.id, message.accepted_at, message.sdk_app_id, row.account, row.installation, message.la_id,
                message.event, row.route, row.route_reason, row.fallback, row.outcome, row.status, row.reason,
                row.attempts, 10, token_fingerprint(row.token), row.environment, row.business_id, message.accepted_at,
                message.accepted_at + row.took
            FROM (VALUES
                (1, 'alice', 'phone-1', 'live_activity', 'activity_registered', false, 'accepted_by_apns', 200, NULL, 1,
                    '80b6d1c4f3a29e5807d6c5b4a3f2e1d0c9b8a7968574635241302f1e0d9c8b7a', 'sandbox', 1, interval '7 s'),
                (2, 'alice', 'phone-1', 'live_activity', 'activity_registered', false, 'accepted_by_apns', 200, NULL, 1,
                    '80b6d1c4f3a29e5807d6c5b4a3f2e1d0c9b8a7968574635241302f1e0d9c8b7a', 'sandbox', 1, interval '0.2 s'),
                (2, 'bob', 'phone-2', 'live_activity', 'activity_registered', false, 'token_dead', 410, 'Unregistered', 1,
                    '22', 'sandbox', 1, interval '0.1 s'),
                (2, 'bob', 'phone-2', 'notification', 'activity_push_refused', true, 'accepted_by_apns', 200, NULL, 1,
                    '02', 'sandbox', 1, interval '0.2 s'),
                (2, 'carol', NULL, 'none', 'no_device', false, 'nothing_to_send', NULL, NULL, 0,
                    NULL, NULL, NULL, interval '0.1 s'),
                (2, 'dora', 'phone-4', 'notification', 'activity_not_registered', false, 'refused', 400, 'BadDeviceToken', 1,
                    '04', 'sandbox', 1, interval '0.1 s')
            ) AS row (id, account, installation, route, route_reason, fallback, outcome, status, reason, attempts,
                token, environment, business_id, took)
            JOIN message USING (id);
            UPDATE delivery SET answers_lost = 1 WHERE account = 'bob' AND route = 'notification';
            INSERT INTO pending (message_id, account, accepted_at, sdk_app_id, instance_id, due, deadline, reason, content)
            SELECT id, row.account, accepted_at, sdk_app_id, row.instance_id, row.due, now() + interval '1 day',
                row.reason, CASE WHEN row.account IS NULL THEN '{"version":1,"recipients":["bob"]}'::bytea END
            FROM (VALUES
                (3, 'bob', NULL::bigint, now() - interval '6 minutes', 'certificate_missing'),
                (4, 'henry', NULL, now() + interval '5 minutes', 'InternalServerError'),
                (5, NULL, 1, now(), '')
            ) AS row (id, account, instance_id, due, reason)
            JOIN message USING (id);
            INSERT INTO segment (sdk_app_id, name, account, installation)
            VALUES (1400000000, 'vip', 'alice', NULL), (1400000000, 'vip', 'bob', 'phone-2'),
                (1400000000, 'london', 'carol', NULL);
            INSERT INTO fan_out (message_id, accepted_at, sdk_app_id, audience, segments_all, segments_any, listed,
                replaces_older)
            SELECT id, accepted_at, sdk_app_id, 'segments', '{vip}', '{}', 500, false FROM message WHERE id = 5;
            INSERT INTO alarm (kind, sdk_app_id, subject, business_id, environment, route, detail, count, ended_at)
            VALUES
                ('signing_key_refused', 1400000000, '2/production/InvalidProviderToken', 2, 'production', NULL,
                    'APNs refuses the signing key FGHIJ67890 in production: InvalidProviderToken', 7, NULL),
                ('topic_refused', 1400000000, '1/sandbox/activity/TopicDisallowed', 1, 'sandbox', 'live_activity',
                    'the key ABCDE12345 may not send Live Activity pushes to com.example.shop', 3, now());
            """
    }
}

extension Readme {
    /// Each block with the heading above it.
    fileprivate var questions: [(question: String, block: Block)] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return blocks.map { block in
            let heading = lines.prefix(block.line).last { $0.hasPrefix("## ") }
            return (String(heading?.dropFirst(3) ?? ""), block)
        }
    }
}
