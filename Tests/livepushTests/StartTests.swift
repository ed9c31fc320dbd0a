import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Activities that a push brings up.
    @Suite
    struct StartTests {
        private static let alert = #""Alert":{"title":"Order 7","body":"is being prepared"}"#
        private static let reason = "SELECT reason FROM pending WHERE account = 'alice'"
        private static let members = #""AttributesType":"Order","Attributes":{"number":"A7"},"# + alert

        /// Runs a test with an app that may start activities.
        private func run(flags: [String] = [], _ test: (GatewayUnderTest) throws -> Void) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed("app", "set", "--extensions", "on", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)")
            try gateway.serve(flags)
            try test(gateway)
        }

        /// Registers a phone with a start token and without the activity.
        ///
        /// - Parameter system: the iOS that it reports.
        private func registerStart(
            _ gateway: GatewayUnderTest,
            _ account: String = "alice",
            phone installation: String = "phone-1",
            system: String? = "18.1",
        ) throws -> (phone: TestPhone, startToken: String) {
            let phone = try gateway.register(account, phone: installation, laID: nil)
            let token = TestPhone.token(bytes: 64)
            let version = system.map { #","osVersion":"\#($0)""# } ?? ""
            let body = #"{"token":"\#(token)","businessId":1,"installation":"\#(installation)"\#(version)}"#
            try gateway.phone(account, "PUT", "/v1/start-tokens/Order", body)
            return (phone, token)
        }

        private func start(
            _ gateway: GatewayUnderTest,
            laID: String = "order-7",
            members: String = members,
            state: String = #"{"step":0}"#,
            through server: GatewayServer? = nil,
        ) throws {
            try gateway.send(through: server) {
                $0.laID = laID
                $0.event = "start"
                $0.contentState = state
                $0.activityMembers = members
            }
        }

        private func update(_ gateway: GatewayUnderTest, _ step: Int, laID: String = "order-7") throws {
            try gateway.send {
                $0.laID = laID
                $0.contentState = #"{"step":\#(step)}"#
            }
        }

        // MARK: - The push

        @Test("C72: a start goes to the start token at once, for five minutes, under the activity's collapse id")
        func push() throws {
            try run { gateway in
                let (_, token) = try registerStart(gateway)
                let more = #","StaleDate":1999999999,"RelevanceScore":75.5,"InputPushToken":1"#
                try start(gateway, members: Self.members + more)
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == token)
                #expect(push["apns-topic"] == "com.ex.app.push-type.liveactivity")
                #expect(push["apns-push-type"] == "liveactivity")
                #expect(push["apns-priority"] == "10")
                let expiration = try #require(push["apns-expiration"].flatMap(Double.init))
                #expect(abs(expiration - push.received - 300) < 3)
                let collapseID = try #require(push["apns-collapse-id"])
                #expect(collapseID.utf8.count <= 64)
                #expect(push.event == "start")
                #expect(push.aps?["attributes-type"]?.string == "Order")
                #expect(push.aps?["attributes"]?.text == #"{"number":"A7"}"#)
                #expect(push.contentState == #"{"step":0}"#)
                #expect(push.aps?["alert"]?.text == #"{"title":"Order 7","body":"is being prepared"}"#)
                #expect(push.aps?["stale-date"]?.integer == 1_999_999_999)
                #expect(push.aps?["relevance-score"]?.text == "75.5")
                #expect(push.aps?["input-push-token"]?.integer == 1)
                #expect(push.aps?["dismissal-date"] == nil)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(
                    try gateway.sql("SELECT event, route_reason, priority_reason FROM delivery")
                        == "start|start_token_registered|alert"
                )
                let last = "SELECT kind, last_outcome FROM registrations ORDER BY kind"
                #expect(try gateway.sql(last) == "device|\nstart|accepted_by_apns")
            }
        }

        @Test("Every phone of the recipient with a token for the type is sent the start, and no other")
        func everyPhone() throws {
            try run { gateway in
                let tokens = try ["phone-1", "phone-2"].map { try registerStart(gateway, phone: $0).startToken }
                try gateway.register(phone: "phone-3", laID: nil)
                try start(gateway)
                #expect(Set(try gateway.peer.exactly(2).map(\.token)) == Set(tokens))
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "alice|phone-2|live_activity||accepted_by_apns|",
                )
            }
        }

        @Test(
            "C69: a channel or an update token is asked for only where the phone's iOS knows that",
            arguments: [("18.0", true), ("17.4", false), (nil, false)]
        )
        func inputs(system: String?, isSent: Bool) throws {
            try run { gateway in
                _ = try registerStart(gateway, system: system)
                try start(gateway, members: Self.members + #","InputPushChannel":"dHN0LXNyY2gtY2hubA==""#)
                try start(gateway, laID: "order-8", members: Self.members + #","InputPushToken":1"#)
                let pushes = try gateway.peer.exactly(2)
                #expect((pushes[0].aps?["input-push-channel"]?.string == "dHN0LXNyY2gtY2hubA==") == isSent)
                #expect((pushes[1].aps?["input-push-token"]?.integer == 1) == isSent)
                try gateway.expectSQL(
                    "SELECT DISTINCT outcome, route_reason FROM delivery",
                    "accepted_by_apns|\(isSent ? "start_token_registered" : "input_push_left_out")"
                )
                #expect(pushes.allSatisfy { $0.aps?["attributes-type"]?.string == "Order" })
            }
        }

        @Test("A phone whose device reports an iOS without starts gets a notification")
        func oldSystem() throws {
            try run { gateway in
                _ = try registerStart(gateway, system: "17.1")
                try start(gateway)
                #expect(try gateway.peer.exactly(1).map(\.pushType) == ["alert"])
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||refused|",
                    "alice|phone-1|notification|fallback|accepted_by_apns|",
                )
                #expect(try gateway.sql("SELECT DISTINCT route_reason FROM delivery") == "start_not_supported")
                #expect(try gateway.sql("SELECT count(*) FROM activity_start") == "0")
            }
        }

        @Test("Without a start token for the type the recipient gets a notification")
        func noToken() throws {
            try run { gateway in
                _ = try registerStart(gateway)
                try start(gateway, members: Self.members.replacing(#""Order""#, with: #""Ride""#))
                #expect(try gateway.peer.exactly(1).map(\.pushType) == ["alert"])
                try gateway.expectDeliveries("alice|phone-1|notification|fallback|accepted_by_apns|")
                #expect(try gateway.sql("SELECT route_reason FROM delivery") == "start_token_not_registered")
            }
        }

        @Test("A dead start token is forgotten, and a notification takes its place, once")
        func deadToken() throws {
            try run { gateway in
                let (_, token) = try registerStart(gateway)
                try gateway.peer.answer(token, .status(410, "Unregistered"))
                try start(gateway)
                #expect(try gateway.peer.exactly(2).map(\.pushType) == ["liveactivity", "alert"])
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||token_dead|Unregistered",
                    "alice|phone-1|notification|fallback|accepted_by_apns|",
                )
                #expect(try gateway.sql("SELECT count(*) FROM start_token") == "0")
                #expect(try gateway.sql("SELECT count(*) FROM activity_start") == "0")
                try update(gateway, 1)
                #expect(try gateway.peer.exactly(3).last?.pushType == "alert", "nothing is waited for")
            }
        }

        @Test("A refused start is nothing to wait for; what waits goes on at once")
        func refusedWhileAwaited() throws {
            try run(flags: ["--retry-schedule", "2"]) { gateway in
                let (_, token) = try registerStart(gateway)
                try gateway.peer.answer(token, .status(503), .status(400, "BadDeviceToken"))
                try start(gateway)
                try gateway.expectSQL("SELECT reason FROM pending WHERE account = 'alice'", "ServiceUnavailable")
                try update(gateway, 1)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'update_token_awaited'", "1")
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.peer.exactly(4).map(\.pushType) == ["liveactivity", "liveactivity", "alert", "alert"]
                )
                try gateway.expectSQL("SELECT count(*) FROM activity_start", "0")
            }
        }

        @Test("C88: a start whose answer was lost is sent again under the same ids and timestamp")
        func lostAnswer() throws {
            try run { gateway in
                let (_, token) = try registerStart(gateway)
                try gateway.peer.answer(token, .closedConnection)
                try start(gateway)
                let pushes = try gateway.peer.exactly(2)
                for header in ["apns-id", "apns-collapse-id", "apns-expiration"] {
                    #expect(pushes[0][header] == pushes[1][header])
                }
                #expect(pushes[0].timestamp == pushes[1].timestamp)
                #expect(try gateway.sql("SELECT cardinality(recent_starts) FROM start_guard") == "1")
            }
        }

        @Test("A start that APNs does not take within its time is given up, and no notification follows")
        func expired() throws {
            try run(flags: ["--start-expiration", "1", "--retry-schedule", "0.4"]) { gateway in
                let (_, token) = try registerStart(gateway)
                try gateway.peer.answer(token, .status(503, times: 100))
                try start(gateway)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql("SELECT outcome, route_reason, apns_reason FROM delivery")
                        == "expired|start_expired|ServiceUnavailable"
                )
            }
        }

        // MARK: - One card

        @Test("C51: updates wait while the activity may come up; the newest goes out once it has a token")
        func updatesWait() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                _ = try gateway.peer.exactly(1)
                for step in 1...3 {
                    try update(gateway, step)
                }
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'superseded'", "2")
                let reason = try gateway.sql("SELECT reason FROM undelivered")
                #expect(reason.contains("registers the update token"), "\(reason)")
                _ = try gateway.peer.exactly(1)
                try gateway.register("alice", activity: "order-7", phone)
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes[1].token == phone.activityToken)
                #expect(pushes[1].event == "update")
                #expect(pushes[1].contentState == #"{"step":3}"#)
                #expect(pushes[1].timestamp ?? 0 > pushes[0].timestamp ?? 0)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql("SELECT outcome, route_reason FROM delivery ORDER BY message_id") == """
                        accepted_by_apns|start_token_registered
                        superseded|newer_message_claimed
                        superseded|newer_message_claimed
                        accepted_by_apns|activity_registered
                        """
                )
                try update(gateway, 4)
                #expect(try gateway.peer.exactly(3)[2].contentState == #"{"step":4}"#)
            }
        }

        @Test("C51, C72: a second start waits like an update, and becomes one")
        func secondStart() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                try start(gateway, state: #"{"step":1}"#)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'update_token_awaited'", "1")
                _ = try gateway.peer.exactly(1)
                try gateway.register("alice", activity: "order-7", phone)
                var pushes = try gateway.peer.exactly(2)
                #expect(pushes[1].token == phone.activityToken)
                #expect(pushes[1].event == "update")
                #expect(pushes[1].contentState == #"{"step":1}"#)
                #expect(pushes[1].aps?["attributes-type"] == nil)
                try start(gateway, state: #"{"step":2}"#)
                pushes = try gateway.peer.exactly(3)
                #expect(pushes[2].event == "update", "it runs already")
            }
        }

        @Test("C72: of two starts at once through two gateways one goes out")
        func racingStarts() throws {
            try run { gateway in
                let other = try gateway.serve()
                _ = try registerStart(gateway)
                let exchanges = try (1...6).map { step in
                    try gateway.begin(
                        TestMessage {
                            $0.laID = "order-7"
                            $0.event = "start"
                            $0.contentState = #"{"step":\#(step)}"#
                            $0.activityMembers = Self.members
                        },
                        through: step % 2 == 0 ? other : nil,
                    )
                }
                for exchange in exchanges {
                    #expect(try exchange.answer().json["ActionStatus"]?.string == "OK")
                }
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE instance_id IS NOT NULL", "0")
                #expect(try gateway.peer.exactly(1).map(\.event) == ["start"])
            }
        }

        /// Makes the claim of a start take so long.
        private func slowStarts(_ gateway: GatewayUnderTest, seconds: Double) throws {
            try gateway.sql(
                """
                CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql
                    AS $$ BEGIN PERFORM pg_sleep(\(seconds)); RETURN NEW; END $$;
                CREATE TRIGGER slow BEFORE INSERT ON activity_start FOR EACH ROW EXECUTE FUNCTION slow();
                """
            )
        }

        @Test(
            "C51: what another gateway takes before the start is claimed waits for it, and goes out with the token",
            arguments: ["update", "end"]
        )
        func startNotClaimedYet(event: String) throws {
            try run { gateway in
                let first = try gateway.server
                let other = try gateway.serve()
                let (phone, _) = try registerStart(gateway)
                try slowStarts(gateway, seconds: 2)
                try start(gateway, through: first)
                try gateway.send(through: other) {
                    $0.laID = "order-7"
                    $0.event = event
                    $0.contentState = #"{"step":1}"#
                }
                try gateway.expectSQL(Self.reason, "start_undecided", within: 1)
                let words = try gateway.sql("SELECT reason FROM undelivered WHERE account = 'alice'")
                #expect(words.contains("a start of the same activity was accepted before it"), "\(words)")
                try gateway.expectSQL("SELECT reason FROM pending WHERE account = 'alice'", "update_token_awaited")
                try gateway.register("alice", activity: "order-7", phone)
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes.map(\.event) == ["start", event])
                #expect(pushes[1].contentState == #"{"step":1}"#)
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "alice|phone-1|live_activity||accepted_by_apns|",
                )
                #expect(try gateway.sql("SELECT DISTINCT attempts FROM delivery") == "1")
            }
        }

        @Test("A start that gets no further is not waited for for ever, and the reason is recorded")
        func startNeverDecided() throws {
            try run(flags: ["--start-expiration", "1", "--start-token-wait", "0.5"]) { gateway in
                _ = try registerStart(gateway)
                try gateway.sql(
                    """
                    INSERT INTO pending (message_id, accepted_at, sdk_app_id, due, deadline, content, starts)
                    VALUES (nextval('message_id'), now(), \(GatewayUnderTest.sdkAppID), now() + interval '1 hour',
                        now() + interval '1 day', '', 'order-7')
                    """
                )
                try gateway.send { $0.laID = "order-7" }
                try gateway.expectSQL(Self.reason, "start_undecided", within: 1)
                #expect(try gateway.peer.exactly(1).map(\.pushType) == ["alert"])
                try gateway.expectSQL(
                    "SELECT outcome, route_reason, fallback FROM delivery WHERE event = 'update'",
                    "accepted_by_apns|start_undecided|t"
                )
            }
        }

        @Test("The wait ends: the newest update becomes a notification, and the reason is recorded")
        func waitEnds() throws {
            try run(flags: ["--start-expiration", "1", "--start-token-wait", "1"]) { gateway in
                _ = try registerStart(gateway)
                try start(gateway)
                try update(gateway, 1)
                try update(gateway, 2)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(try gateway.peer.exactly(2).map(\.pushType) == ["liveactivity", "alert"])
                #expect(
                    try gateway.sql(
                        "SELECT outcome, route, route_reason, fallback FROM delivery ORDER BY message_id, fallback"
                    ) == """
                        accepted_by_apns|live_activity|start_token_registered|f
                        superseded|live_activity|newer_message_claimed|f
                        expired|live_activity|update_token_not_registered|f
                        accepted_by_apns|notification|update_token_not_registered|t
                        """
                )
                try start(gateway, state: #"{"step":3}"#)
                #expect(try gateway.peer.exactly(3)[2].event == "start", "the first may not come up any more")
            }
        }

        @Test("An end waits too, is not superseded, and nothing follows it")
        func endWaits() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                try update(gateway, 1)
                try gateway.send {
                    $0.laID = "order-7"
                    $0.event = "end"
                    $0.contentState = #"{"step":2}"#
                }
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'superseded'", "1")
                try gateway.register("alice", activity: "order-7", phone)
                #expect(try gateway.peer.exactly(2).map(\.event) == ["start", "end"])
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            }
        }

        @Test("C51: an update that meets the registration of the token half-way is not left waiting")
        func updateMeetsRegistration() throws {
            try run(flags: ["--start-guard-limit", "100"]) { gateway in
                let count = 20
                let (phone, _) = try registerStart(gateway)
                for number in 1...count {
                    try start(gateway, laID: "order-\(number)")
                }
                _ = try gateway.peer.exactly(count)
                for number in 1...count {
                    var activity = phone
                    activity.activityToken = TestPhone.token(bytes: 80)
                    let exchange = try gateway.begin(
                        TestMessage {
                            $0.laID = "order-\(number)"
                            $0.contentState = #"{"step":1}"#
                        }
                    )
                    try gateway.register("alice", activity: "order-\(number)", activity)
                    #expect(try exchange.answer().json["ActionStatus"]?.string == "OK")
                }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 5)
                let updates = try gateway.peer.exactly(2 * count).filter { $0.event == "update" }
                #expect(Set(updates.map(\.token)).count == count)
            }
        }

        @Test("An activity that has ended is started anew, also within a minute of its end")
        func startAfterEnd() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                _ = try gateway.peer.exactly(1)
                try gateway.register("alice", activity: "order-7", phone)
                try gateway.send {
                    $0.laID = "order-7"
                    $0.event = "end"
                }
                try gateway.expectSQL("SELECT count(*) FROM live_activity WHERE ended_at IS NOT NULL", "1")
                try start(gateway, state: #"{"step":1}"#)
                #expect(try gateway.peer.exactly(3).map(\.event) == ["start", "end", "start"])
                var next = phone
                next.activityToken = TestPhone.token(bytes: 80)
                try gateway.register("alice", activity: "order-7", next)
                try update(gateway, 2)
                #expect(try gateway.peer.exactly(4)[3].token == next.activityToken)
            }
        }

        @Test("After a log-out nothing waits any more")
        func logOut() throws {
            try run { gateway in
                _ = try registerStart(gateway)
                try start(gateway)
                try update(gateway, 1)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'update_token_awaited'", "1")
                try gateway.phone("alice", "DELETE", "/v1/devices/phone-1")
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(try gateway.sql("SELECT account, waiting_message, alert FROM activity_start") == "||")
                #expect(
                    try gateway.sql("SELECT outcome, route_reason FROM delivery WHERE event = 'update' ORDER BY 1")
                        == "expired|update_token_not_registered\nnothing_to_send|no_device"
                )
            }
        }

        /// How a phone may change between two starts.
        enum Change: CaseIterable {
            case logOutAndIn
            case startToken
            case account
        }

        /// - Returns: whose the phone is then.
        private func make(_ change: Change, _ gateway: GatewayUnderTest) throws -> (account: String, phone: TestPhone) {
            switch change {
            case .logOutAndIn:
                try gateway.phone("alice", "DELETE", "/v1/devices/phone-1")
                return ("alice", try registerStart(gateway).phone)
            case .startToken:
                try gateway.phone("alice", "DELETE", "/v1/start-tokens/Order?installation=phone-1")
                return ("alice", try registerStart(gateway).phone)
            case .account:
                return ("bob", try registerStart(gateway, "bob").phone)
            }
        }

        private func start(_ gateway: GatewayUnderTest, laID: String, of account: String) throws {
            try gateway.send {
                $0.recipients = [account]
                $0.laID = laID
                $0.event = "start"
                $0.contentState = #"{"step":1}"#
                $0.activityMembers = Self.members
            }
        }

        @Test(
            "C51: no second start while the first may come up, whatever is registered anew on the phone",
            arguments: Change.allCases
        )
        func startRemembered(change: Change) throws {
            try run { gateway in
                _ = try registerStart(gateway)
                try start(gateway)
                _ = try gateway.peer.exactly(1)
                let (account, phone) = try make(change, gateway)
                try start(gateway, laID: "order-7", of: account)
                try gateway.expectSQL(
                    "SELECT reason FROM pending WHERE account = '\(account)'",
                    "update_token_awaited"
                )
                try gateway.register(account, activity: "order-7", phone)
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes.map(\.event) == ["start", "update"])
                #expect(pushes[1].contentState == #"{"step":1}"#)
                #expect(pushes[1].timestamp ?? 0 > pushes[0].timestamp ?? 0)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            }
        }

        @Test("An activity that came up for another account is not taken for one that may come up")
        func cameUpForAnother() throws {
            try run { gateway in
                _ = try registerStart(gateway)
                try start(gateway)
                let first = try gateway.peer.exactly(1)[0]
                let (phone, _) = try registerStart(gateway, "bob")
                try gateway.register("bob", activity: "order-7", phone)
                #expect(try gateway.sql("SELECT count(*) FROM activity_start") == "0")
                #expect(
                    try gateway.sql("SELECT last_timestamp, attributes_type FROM live_activity")
                        == "\(first.timestamp ?? 0)|Order"
                )
                try gateway.send {
                    $0.recipients = ["bob"]
                    $0.laID = "order-7"
                    $0.event = "end"
                }
                try gateway.expectSQL("SELECT count(*) FROM live_activity WHERE ended_at IS NOT NULL", "1")
                try start(gateway, laID: "order-7", of: "bob")
                #expect(try gateway.peer.exactly(3).map(\.event) == ["start", "end", "start"])
            }
        }

        @Test("C70: the guard counts on, whatever is registered anew on the phone", arguments: Change.allCases)
        func guardRemembers(change: Change) throws {
            try run(flags: ["--start-guard-limit", "2"]) { gateway in
                _ = try registerStart(gateway)
                try start(gateway, laID: "order-1", of: "alice")
                try start(gateway, laID: "order-2", of: "alice")
                _ = try gateway.peer.exactly(2)
                let (account, _) = try make(change, gateway)
                try start(gateway, laID: "order-3", of: account)
                #expect(try gateway.peer.exactly(3)[2].pushType == "alert")
                try gateway.expectSQL(
                    "SELECT outcome, route_reason FROM delivery WHERE la_id = 'order-3' ORDER BY fallback",
                    "refused|start_guarded\naccepted_by_apns|start_guarded"
                )
            }
        }

        @Test("Of an erased account nothing is left, but that its phone was sent a start")
        func erased() throws {
            try run { gateway in
                _ = try registerStart(gateway)
                try start(gateway)
                _ = try gateway.peer.exactly(1)
                try gateway.phone("alice", "DELETE", "/v1/devices/phone-1")
                let rows = "SELECT account, alert IS NULL, waiting_message IS NULL FROM activity_start"
                #expect(try gateway.sql(rows) == "|t|t")
                let columns = "SELECT count(*) FROM start_guard AS row WHERE row::text LIKE '%alice%'"
                #expect(try gateway.sql(columns) == "0")
            }
        }

        @Test("The alert of a second start that is superseded while it waits goes out with the newest state")
        func waitingAlertOfStart() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                _ = try gateway.peer.exactly(1)
                let again = Self.members.replacing("Order 7", with: "AGAIN")
                try start(gateway, members: again, state: #"{"step":1}"#)
                try gateway.expectSQL("SELECT reason FROM pending WHERE account = 'alice'", "update_token_awaited")
                try update(gateway, 2)
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'superseded'", "1")
                try gateway.register("alice", activity: "order-7", phone)
                let push = try gateway.peer.exactly(2)[1]
                #expect(push.event == "update")
                #expect(push.contentState == #"{"step":2}"#)
                #expect(push.aps?["alert"]?["title"]?.string == "AGAIN")
            }
        }

        @Test("The alert of a second start that goes out itself is its own, once")
        func alertOfSecondStart() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                _ = try gateway.peer.exactly(1)
                let again = Self.members.replacing("Order 7", with: "AGAIN")
                try start(gateway, members: again, state: #"{"step":1}"#)
                try gateway.expectSQL("SELECT reason FROM pending WHERE account = 'alice'", "update_token_awaited")
                try gateway.register("alice", activity: "order-7", phone)
                #expect(try gateway.peer.exactly(2)[1].aps?["alert"]?["title"]?.string == "AGAIN")
                try update(gateway, 2)
                #expect(try gateway.peer.exactly(3)[2].aps?["alert"] == nil)
            }
        }

        @Test("What waits survives a crash of its gateway")
        func crash() throws {
            let flags = ["--heartbeat-interval", "0.1", "--send-stop-after", "0.5", "--takeover-after", "1"]
            try run(flags: flags) { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                try update(gateway, 1)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'update_token_awaited'", "1")
                try gateway.crash()
                try gateway.serve(flags)
                try gateway.register("alice", activity: "order-7", phone)
                #expect(try gateway.peer.exactly(2).map(\.event) == ["start", "update"])
            }
        }

        @Test("The alert of an update that is superseded while it waits goes out with the newest state")
        func waitingAlert() throws {
            try run { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway)
                try gateway.send {
                    $0.laID = "order-7"
                    $0.contentState = #"{"step":1}"#
                    $0.activityMembers = #""Alert":{"title":{"loc-key":"LATE","loc-args":["5"]},"sound":"ding.aiff"}"#
                }
                try update(gateway, 2)
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'superseded'", "1")
                try gateway.register("alice", activity: "order-7", phone)
                let push = try gateway.peer.exactly(2)[1]
                #expect(push.contentState == #"{"step":2}"#)
                #expect(push.aps?["alert"]?["title"]?["loc-key"]?.string == "LATE")
                #expect(push.aps?["alert"]?["sound"]?.string == "ding.aiff")
            }
        }

        @Test("With one phone's activity running, an update waits for the other's alone")
        func oneOfTwoPhones() throws {
            try run { gateway in
                let (first, _) = try registerStart(gateway, phone: "phone-1")
                let (second, _) = try registerStart(gateway, phone: "phone-2")
                try start(gateway)
                _ = try gateway.peer.exactly(2)
                try gateway.register("alice", activity: "order-7", first)
                try update(gateway, 1)
                #expect(try gateway.peer.exactly(3)[2].token == first.activityToken)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'update_token_awaited'", "1")
                try gateway.register("alice", activity: "order-7", second)
                #expect(try gateway.peer.exactly(4)[3].token == second.activityToken)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            }
        }

        // MARK: - The guard

        @Test("C70: of 12 starts to one phone 8 go out, and notifications in place of the rest")
        func guardNotifies() throws {
            try run { gateway in
                _ = try registerStart(gateway)
                for number in 1...12 {
                    try start(gateway, laID: "order-\(number)")
                }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.exactly(12)
                #expect(pushes.filter { $0.event == "start" }.count == 8)
                #expect(pushes.filter { $0.pushType == "alert" }.count == 4)
                #expect(
                    try gateway.sql(
                        "SELECT outcome, route, route_reason, count(*) FROM delivery GROUP BY 1, 2, 3 ORDER BY 4, 2"
                    ) == """
                        refused|live_activity|start_guarded|4
                        accepted_by_apns|notification|start_guarded|4
                        accepted_by_apns|live_activity|start_token_registered|8
                        """
                )
                let metrics = try HTTPExchange("GET", port: gateway.port, "/metrics").answer().text
                #expect(metrics.contains("start_guarded"))
            }
        }

        @Test("C70: with the policy delay a start over the limit waits for its turn, and its updates with it")
        func guardDelays() throws {
            let flags = ["--start-guard-limit", "1", "--start-guard-window", "2", "--start-guard-policy", "delay"]
            try run(flags: flags) { gateway in
                let (phone, _) = try registerStart(gateway)
                try start(gateway, laID: "order-1")
                try start(gateway, laID: "order-7")
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'start_guarded'", "1")
                try update(gateway, 1)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE reason = 'update_token_awaited'", "1")
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes.map(\.event) == ["start", "start"])
                #expect(pushes[1].received - pushes[0].received > 1.5)
                try gateway.register("alice", activity: "order-7", phone)
                #expect(try gateway.peer.exactly(3)[2].contentState == #"{"step":1}"#)
            }
        }
    }
}
