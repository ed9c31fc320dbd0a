import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// States that an app cannot decode, where a schema tells what it decodes.
    @Suite
    struct ContentStateTests {
        private static let activity = "OfflinePushInfo.ApnsInfo.LiveActivity."

        /// A gateway whose app has a schema with these members of ContentState, written as in Swift; types for them stand
        /// beside it.
        private func run(
            _ state: String,
            types: String = "",
            policy: [String] = [],
            _ test: (GatewayUnderTest) throws -> Void,
        ) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.importSchema(state, types: types)
            if !policy.isEmpty {
                let app = ["app", "set", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                let outcome = try gateway.livepush(app + policy)
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            try gateway.serve()
            try test(gateway)
        }

        private func register(
            _ account: String = "alice",
            phone: String,
            appVersion: String,
            with gateway: GatewayUnderTest,
        ) throws {
            let phone = TestPhone(installation: phone)
            try gateway.register(account, device: phone)
            let body = #"""
                {"token":"\#(phone.activityToken)","businessId":1,"installation":"\#(phone.installation)",
                 "attributesType":"RideAttributes","appVersion":"\#(appVersion)"}
                """#
            try gateway.phone(account, "PUT", "/v1/activities/order-1", body)
        }

        @Test(
            "Of two types, an activity that a push started is of that which was started, though its phone does not say so"
        )
        func typeOfStart() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
            try gateway.importSchema("var step: Int")
            let other = """
                import ActivityKit
                struct OtherAttributes: ActivityAttributes {
                    struct ContentState: Codable, Hashable { var goals: String }
                }
                """
            _ = try ChildProcess.run("tee", ["\(gateway.folder)/Other.swift"], input: other)
            let imported = try gateway.livepush(["schema", "import", "\(gateway.folder)/Other.swift"] + app)
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try gateway.livepush(["app", "set", "--extensions", "on"] + app).status == 0)
            try gateway.serve()
            let phone = try gateway.register(laID: nil)
            let token = #"{"token":"\#(TestPhone.token(bytes: 64))","businessId":1,"installation":"phone-1"}"#
            try gateway.phone("alice", "PUT", "/v1/start-tokens/RideAttributes", token)
            try gateway.send {
                $0.event = "start"
                $0.contentState = #"{"step":1}"#
                $0.activityMembers =
                    #""AttributesType":"RideAttributes","Attributes":{"number":7},"Alert":{"title":"T","body":"B"}"#
            }
            #expect(try gateway.peer.exactly(1)[0].event == "start")
            try gateway.register("alice", activity: "order-1", phone)
            for state in [#"{"step":"1"}"#, #"{"goals":"1"}"#] {
                let answer = try gateway.post(TestMessage { $0.contentState = state })
                #expect(answer["ErrorCode"]?.integer == 90043, "\(state): \(answer.text)")
                #expect(answer["ErrorInfo"]?.string?.hasPrefix("\(Self.activity)ContentState.step: ") == true)
            }
            try gateway.send { $0.contentState = #"{"step":2}"# }
            #expect(try gateway.peer.exactly(2)[1].contentState == #"{"step":2}"#)
        }

        /// Posts states of which each is refused with the member's path, and nothing of it is stored.
        private func expectRefusals(
            _ states: [(state: String, path: String, words: String)],
            by gateway: GatewayUnderTest,
            sourceLocation: SourceLocation = #_sourceLocation,
        ) throws {
            for (state, path, words) in states {
                let answer = try gateway.post(TestMessage { $0.contentState = state })
                #expect(
                    answer["ErrorCode"]?.integer == 90043,
                    "\(state): \(answer.text)",
                    sourceLocation: sourceLocation
                )
                let info = answer["ErrorInfo"]?.string ?? ""
                #expect(
                    info.hasPrefix("\(Self.activity)ContentState\(path): "),
                    "\(state): \(info)",
                    sourceLocation: sourceLocation,
                )
                #expect(info.contains(words), "\(state): \(info)", sourceLocation: sourceLocation)
            }
            #expect(try gateway.sql("SELECT count(*) FROM message") == "0", sourceLocation: sourceLocation)
            _ = try gateway.peer.exactly(0)
        }

        /// Posts states that are sent, each as it is written.
        private func expectPushes(_ states: String..., by gateway: GatewayUnderTest) throws {
            for state in states {
                try gateway.send { $0.contentState = state }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            }
            #expect(try gateway.peer.exactly(states.count).map(\.contentState) == states)
        }

        private func warnings(of answer: JSONValue) -> [String] {
            (answer["Warnings"]?.elements ?? []).map { warning in
                let field = warning["Field"]?.string ?? ""
                let name = field.hasPrefix(Self.activity) ? String(field.dropFirst(Self.activity.count)) : field
                return "\(name) \(warning["Code"]?.string ?? "")"
            }
        }

        // MARK: - What is refused

        @Test("C60: Unix seconds, milliseconds and text in a Date are refused with the number that would be right")
        func dates() throws {
            try self.run("var endTime: Date?") { gateway in
                try gateway.register()
                try self.expectRefusals(
                    [
                        (#"{"endTime":1796007172}"#, ".endTime", "send 817699972"),
                        (#"{"endTime":1796007172123}"#, ".endTime", "send 817699972.123"),
                        (#"{"endTime":"2026-11-30T03:32:52Z"}"#, ".endTime", "Date"),
                    ],
                    by: gateway,
                )
                try self.expectPushes(#"{"endTime":817699972}"#, #"{"endTime":null}"#, "{}", by: gateway)
            }
        }

        @Test("C61: prefixed keys are refused with the member that is missing and the one that nothing reads")
        func prefixedKeys() throws {
            try self.run("var text: String") { gateway in
                try gateway.register()
                try self.expectRefusals([(#"{"E5_text":"x"}"#, ".text", "String is missing")], by: gateway)
                let refusal = try gateway.post(TestMessage { $0.contentState = #"{"E5_text":"y"}"# })
                #expect(self.warnings(of: refusal) == ["ContentState.E5_text unknown_member"])
                let answer = try gateway.post(TestMessage { $0.contentState = #"{"text":"x","more":1}"# })
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(self.warnings(of: answer) == ["ContentState.more unknown_member"])
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
            }
        }

        @Test("C62: a state without the member that is an object of its own is refused")
        func missingObject() throws {
            let goal = "struct Goal: Codable, Hashable { var totalDays: Int }"
            try self.run("var goal: Goal", types: goal) { gateway in
                try gateway.register()
                try self.expectRefusals(
                    [
                        (#"{"totalDays":7}"#, ".goal", "missing"), (#"{"goal":7}"#, ".goal", "Goal"),
                        (#"{"goal":{}}"#, ".goal.totalDays", "missing"),
                    ],
                    by: gateway,
                )
                try self.expectPushes(#"{"goal":{"totalDays":7}}"#, by: gateway)
            }
        }

        @Test("C62: a start whose attributes no app decodes is refused; of two apps the one that decodes them gets it")
        func startAttributes() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.importSchema("var step: Int")
            try gateway.importSchema("var step: Int", attributes: "let number: Int; let shop: String", from: "2.0")
            try gateway.succeed("app", "set", "--extensions", "on", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)")
            try gateway.serve()
            for (phone, version) in [("phone-1", "1.4"), ("phone-2", "2.0")] {
                try gateway.register("alice", device: TestPhone(installation: phone))
                let body = #"""
                    {"token":"\#(TestPhone.token(bytes: 64))","businessId":1,"installation":"\#(phone)",
                     "osVersion":"18.1","appVersion":"\#(version)"}
                    """#
                try gateway.phone("alice", "PUT", "/v1/start-tokens/RideAttributes", body)
            }
            func start(_ attributes: String) throws -> JSONValue {
                let members = #""AttributesType":"RideAttributes","Alert":{"title":"Ride","body":"is on its way"}"#
                return try gateway.post(
                    TestMessage {
                        $0.event = "start"
                        $0.contentState = #"{"step":0}"#
                        $0.activityMembers = members + #","Attributes":\#(attributes)"#
                    }
                )
            }
            let refusal = try start(#"{"step":7}"#)
            #expect(refusal["ErrorCode"]?.integer == 90043, "\(refusal.text)")
            let info = refusal["ErrorInfo"]?.string ?? ""
            #expect(info.hasPrefix("\(Self.activity)Attributes.number: "), "\(info)")
            #expect(try gateway.sql("SELECT count(*) FROM message") == "0")

            let answer = try start(#"{"number":7}"#)
            #expect(answer["ActionStatus"]?.string == "OK", "\(answer.text)")
            try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            #expect(try gateway.peer.exactly(1).count == 1)
            try gateway.expectSQL(
                """
                SELECT installation, outcome, left(apns_reason, 41) FROM recent_deliveries ORDER BY installation
                """,
                "phone-1|accepted_by_apns|\nphone-2|refused|content_state_refused: attributes.shop: S",
            )
        }

        @Test("C79, C80: numbers are whole by value, booleans are no numbers, and every byte arrives as it was sent")
        func numbersAndBooleans() throws {
            try self.run("var flag: Bool?; var n: Int?; var z: Double?; var f: Bool?") { gateway in
                try gateway.register()
                try self.expectRefusals(
                    [
                        (#"{"n":10.5}"#, ".n", "whole"), (#"{"flag":1}"#, ".flag", "Bool"),
                        (#"{"n":true}"#, ".n", "Int"),
                        (#"{"z":false}"#, ".z", "Double"),
                    ],
                    by: gateway,
                )
                try self.expectPushes(
                    #"{"flag":true,"n":1,"z":0,"f":false}"#,
                    #"{"z":10,"n":10.0}"#,
                    #"{"n":1e2,"z":-0.0}"#,
                    by: gateway,
                )
            }
        }

        @Test("C85: enums, dictionaries and texts have the shape that Swift synthesizes")
        func shapes() throws {
            let types = """
                enum Leg: Codable, Hashable { case one(Int) }
                enum Plain: Codable, Hashable { case a }
                """
            let state = "var leg: Leg?; var plain: Plain?; var ids: [UUID: Int]?; var data: Data?; var date: Date?"
            let id = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
            try self.run(state, types: types) { gateway in
                try gateway.register()
                try self.expectRefusals(
                    [
                        (#"{"leg":{"one":1}}"#, ".leg.one", "object"), (#"{"plain":"a"}"#, ".plain", "Plain"),
                        (#"{"ids":{"\#(id)":1}}"#, ".ids", "array"), (#"{"data":"AQI"}"#, ".data", "base64"),
                        (#"{"date":""}"#, ".date", "Date"),
                    ],
                    by: gateway,
                )
                try self.expectPushes(
                    #"{"leg":{"one":{"_0":1}}}"#,
                    #"{"plain":{"a":{}}}"#,
                    #"{"ids":["\#(id)",1]}"#,
                    #"{"data":"AQI="}"#,
                    by: gateway,
                )
            }
        }

        // MARK: - Versions

        @Test("C77: each phone is checked by the version that its app has, and the import tells what a new one breaks")
        func versions() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.importSchema("var a: Int")
            let told = try gateway.importSchema("var a: Int; var b: String", from: "2.0")
            #expect(told.contains("breaks content-state.b: is new and required (String)"), "\(told)")
            try gateway.serve()
            try self.register(phone: "old", appVersion: "1.9", with: gateway)
            try self.register(phone: "new", appVersion: "2.0.1", with: gateway)
            try self.register("bob", phone: "bobs", appVersion: "2.1", with: gateway)

            let answer = try gateway.post(TestMessage { $0.contentState = #"{"a":1}"# })
            #expect(answer["ActionStatus"]?.string == "OK")
            #expect(self.warnings(of: answer) == ["ContentState.b content_state_unfit"])
            let unfit = "content_state_refused: content-state.b: String is missing"
            try gateway.expectDeliveries(
                "alice|new|live_activity||refused|\(unfit)",
                "alice|old|live_activity||accepted_by_apns|",
            )
            let refusal = try gateway.post(
                TestMessage {
                    $0.recipients = ["bob"]
                    $0.contentState = #"{"a":2}"#
                }
            )
            #expect(refusal["ErrorCode"]?.integer == 90043)
            #expect(refusal["ErrorInfo"]?.string?.contains("version 2 of RideAttributes") == true, "\(refusal.text)")
            // Of several recipients it fits one, so that the others are recorded.
            try gateway.send {
                $0.recipients = ["alice", "bob", "carol"]
                $0.contentState = #"{"a":3}"#
            }
            try gateway.expectSQL(
                "SELECT installation, outcome FROM delivery WHERE account IN ('bob', 'carol') ORDER BY account",
                "bobs|refused\n|nothing_to_send",
            )
            try gateway.send { $0.contentState = #"{"a":4,"b":"x"}"# }
            try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            #expect(
                try gateway.peer.exactly(4).map(\.contentState).suffix(2)
                    == Array(repeating: #"{"a":4,"b":"x"}"#, count: 2)[...]
            )
            // The refused state does not stand for one that was sent.
            try gateway.send { $0.contentState = #"{"a":4,"b":"x"}"# }
            try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'unchanged'", "2")
        }

        @Test("A schema that is added or removed counts in a running gateway")
        func followed() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.serve(["--heartbeat-interval", "0.2"])
            try gateway.register()
            try gateway.send { $0.contentState = #"{"a":"x"}"# }
            try gateway.importSchema("var a: Int")
            let isRefused = try eventually(within: 10) {
                try gateway.post(TestMessage { $0.contentState = #"{"a":"y"}"# })["ErrorCode"]?.integer == 90043
            }
            #expect(isRefused)
            try gateway.succeed(
                "schema",
                "remove",
                "--sdk-app-id",
                "\(GatewayUnderTest.sdkAppID)",
                "--type",
                "RideAttributes",
                "--all"
            )
            let isTaken = try eventually(within: 10) {
                try gateway.post(TestMessage { $0.contentState = #"{"a":"z"}"# })["ErrorCode"]?.integer == 0
            }
            #expect(isTaken)
        }

        // MARK: - Policies

        @Test("C60: where dates are converted just that number is another, and the answer says so")
        func converting() throws {
            try self.run("var end: Date; var n: Double", policy: ["--content-state-convert", "on"]) { gateway in
                try gateway.register()
                let answer = try gateway.post(TestMessage { $0.contentState = #"{"n":1.0, "end":1796007172 }"# })
                #expect(answer["ActionStatus"]?.string == "OK", "\(answer.text)")
                #expect(self.warnings(of: answer) == ["ContentState.end date_as_unix_seconds"])
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.peer.exactly(1).map(\.contentState) == [#"{"n":1.0, "end":817699972 }"#])
                let text = try gateway.post(TestMessage { $0.contentState = #"{"n":1,"end":"2026-11-30T03:32:52Z"}"# })
                #expect(text["ErrorCode"]?.integer == 90043)
            }
        }

        @Test("With the policy fallback a notification takes the place of a state that does not fit")
        func fallback() throws {
            try self.run("var text: String", policy: ["--content-state-policy", "fallback"]) { gateway in
                try gateway.register()
                let answer = try gateway.post(TestMessage { $0.contentState = #"{"text":1}"# })
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(self.warnings(of: answer) == ["ContentState.text content_state_unfit"])
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||refused|content_state_replaced: content-state.text: String is expected",
                    "alice|phone-1|notification|fallback|accepted_by_apns|",
                )
                #expect(try gateway.peer.exactly(1)[0]["apns-push-type"] == "alert")
            }
        }

        @Test("With the policy warn a state that does not fit is sent all the same")
        func warning() throws {
            try self.run("var text: String", policy: ["--content-state-policy", "warn"]) { gateway in
                try gateway.register()
                let answer = try gateway.post(TestMessage { $0.contentState = #"{"text":1}"# })
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(self.warnings(of: answer) == ["ContentState.text content_state_unfit"])
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.peer.exactly(1).map(\.contentState) == [#"{"text":1}"#])
            }
        }

        @Test("Where nobody registered the activity the notification goes out, and the answer warns of the state")
        func notRegistered() throws {
            try self.run("var text: String") { gateway in
                try gateway.register(laID: nil)
                let answer = try gateway.post(TestMessage { $0.contentState = #"{"text":1}"# })
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(self.warnings(of: answer) == ["ContentState.text content_state_unfit"])
                try gateway.expectDeliveries("alice|phone-1|notification|fallback|accepted_by_apns|")
            }
        }
    }
}
