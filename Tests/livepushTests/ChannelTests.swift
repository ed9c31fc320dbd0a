import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Broadcast channels: the command, the routes and the gateway against the simulator.
    @Suite
    struct ChannelTests {
        private static func run(_ test: (GatewayUnderTest, SimulatorUnderTest) throws -> Void) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let simulator = try SimulatorUnderTest(folder: gateway.folder)
            try gateway.serve(simulator.options, trustsPeer: false)
            try test(gateway, simulator)
        }

        private func channel(_ gateway: GatewayUnderTest, _ words: [String]) throws -> ChildProcess.Outcome {
            let place = [
                "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", "--business-id", "1", "--url",
                "http://127.0.0.1:\(try gateway.port)",
            ]
            return try gateway.livepush(["channel"] + words + place)
        }

        private func json(_ outcome: ChildProcess.Outcome) throws -> JSONValue {
            guard outcome.status == 0 else { throw ChildProcess.Failure(outcome.errors) }
            return try JSONDocument(parsing: Array(outcome.output.utf8)).root
        }

        private func create(_ gateway: GatewayUnderTest, _ storage: String) throws -> String {
            try #require(try json(channel(gateway, ["create", "--storage", storage]))["channelId"]?.string)
        }

        private func request(
            _ gateway: GatewayUnderTest,
            _ method: String,
            _ target: String,
            _ body: String? = nil,
        ) throws -> HTTPExchange.Answer {
            let authorization = "Authorization: Bearer \(try gateway.userSig("administrator"))"
            return try HTTPExchange(method, port: gateway.port, target, headers: [authorization], body: body).answer()
        }

        @Test(
            "C75: create, read, list and delete, with the command and over HTTP, and deleting what is gone is no fault"
        )
        func management() throws {
            try Self.run { gateway, simulator in
                let first = try create(gateway, "none")
                let body = #"{"businessId":1,"storage":"recent"}"#
                let second = try #require(try request(gateway, "POST", "/v1/channels", body).json["channelId"]?.string)
                let read = try json(channel(gateway, ["read", "--channel", second]))
                #expect(read["storage"]?.string == "recent" && read["environment"]?.string == "sandbox")
                let list = try json(channel(gateway, ["list"]))
                #expect(list["channels"]?.elements.map { $0["channelId"]?.string } == [first, second])
                #expect(list["channels"]?.elements.map { $0["storage"]?.string } == ["none", "recent"])
                let path = "/v1/channels/\(escaped(second))?businessId=1"
                #expect(try request(gateway, "DELETE", path).json["wasRegistered"]?.boolean == true)
                #expect(try json(channel(gateway, ["delete", "--channel", second]))["wasRegistered"]?.boolean == false)
                #expect(try request(gateway, "GET", path).status == 404)
                // The channel that is left reaches who follows it.
                try follow(first, simulator)
                _ = try json(channel(gateway, ["send", "--channel", first, "--content-state", #"{"goals":1}"#]))
                #expect(try shown(simulator) == #"{"goals":1}"#)
                let left = try simulator.get("/channels")["channels"]?.elements.compactMap { $0["channel"]?.string }
                #expect(left == [first])
                try gateway.expectSQL("SELECT channel_id, storage FROM channels", "\(first)|none")
                try gateway.expectSQL(
                    """
                    SELECT operation, outcome, apns_status, apns_reason FROM channel_requests
                    WHERE operation <> 'send' ORDER BY requested_at
                    """,
                    """
                    create|accepted_by_apns|201|
                    create|accepted_by_apns|201|
                    read|accepted_by_apns|200|
                    list|accepted_by_apns|200|
                    delete|accepted_by_apns|204|
                    delete|refused|400|ChannelNotRegistered
                    read|refused|400|ChannelNotRegistered
                    """,
                )
            }
        }

        @Test(
            "C73: a time to live of 0, none, and one of an hour come out as apns-expiration of a channel that stores pushes"
        )
        func timeToLive() throws {
            try Self.run { gateway, simulator in
                let id = try create(gateway, "recent")
                try follow(id, simulator)
                var expected: [ClosedRange<Int64>] = []
                for (words, life) in [(["--ttl", "0"], Int64?(0)), ([], 28_800), (["--ttl", "3600"], 3600)] {
                    let before = Int64(try gateway.sql("SELECT floor(extract(epoch FROM clock_timestamp()))")) ?? 0
                    let state = #"{"goals":\#(expected.count).0}"#
                    let answer = try json(
                        channel(gateway, ["send", "--channel", id, "--content-state", state] + words)
                    )
                    #expect(try shown(simulator) == state)
                    let codes = answer["warnings"]?.elements.compactMap { $0["code"]?.string }
                    #expect(codes == (life == 0 ? ["expiration_once"] : []))
                    expected.append(life == 0 ? 0...0 : before + (life ?? 0)...before + (life ?? 0) + 10)
                }
                let pushes = try simulator.pushes()
                let expirations = pushes.compactMap { $0["headers"]?["apns-expiration"]?.string }.compactMap {
                    Int64($0)
                }
                #expect(expirations.count == 3)
                for (expiration, range) in zip(expirations, expected) {
                    #expect(range.contains(expiration), "\(expiration)")
                }
                let timestamps = pushes.compactMap { $0["payload"]?["aps"]?["timestamp"]?.integer }
                #expect(timestamps.count == 3 && Set(timestamps).count == 3 && timestamps == timestamps.sorted())
            }
        }

        @Test(
            "C76: a channel without storage is sent 0 and no topic whatever the time to live, and its followers show it"
        )
        func channelWithoutStorage() throws {
            try Self.run { gateway, simulator in
                let id = try create(gateway, "none")
                try follow(id, simulator)
                let state = #"{"goals":1.0,"kickoffDate":1764500000}"#
                let words = ["send", "--channel", id, "--content-state", state, "--ttl", "60", "--priority", "5"]
                let answer = try json(channel(gateway, words))
                #expect(answer["expiration"]?.integer == 0)
                #expect(
                    answer["warnings"]?.elements.map { "\($0["field"]?.string ?? "") \($0["code"]?.string ?? "")" }
                        == ["contentState.kickoffDate date_as_unix_seconds", "ttl expiration_not_stored"]
                )
                let push = try #require(try simulator.pushes().first)
                #expect(push["status"]?.integer == 200)
                #expect(push["path"]?.string == "/4/broadcasts/apps/com.ex.app")
                let headers = try #require(push["headers"])
                #expect(
                    Set(headers.members.map(\.key)) == [
                        "authorization", "apns-channel-id", "apns-push-type", "apns-priority", "apns-expiration",
                        "apns-request-id",
                    ]
                )
                #expect(headers["apns-expiration"]?.string == "0" && headers["apns-priority"]?.string == "5")
                #expect(push["payload"]?["aps"]?["content-state"]?.text == state)
                #expect(push["phones"]?.elements.compactMap(\.string) == ["ann"])
                #expect(try shown(simulator) == state)
                try gateway.expectSQL(
                    "SELECT operation, event, expiration, priority, outcome, warnings FROM channel_requests LIMIT 1",
                    "send|update|0|5|accepted_by_apns|"
                        + "{\"aps.content-state.kickoffDate: date_as_unix_seconds\",\"apns-expiration: expiration_not_stored\"}",
                )
            }
        }

        @Test("A channel that was made elsewhere is asked about once, and then known")
        func foreignChannel() throws {
            try Self.run { gateway, simulator in
                let id = try create(gateway, "none")
                try gateway.sql("DELETE FROM channel")
                for _ in 0..<2 {
                    let body = #"{"businessId":1,"event":"update","contentState":{},"ttl":60}"#
                    let answer = try request(gateway, "POST", "/v1/channels/\(escaped(id))/messages", body)
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(try answer.json["expiration"]?.integer == 0)
                }
                let methods = try simulator.get("/channels")["requests"]?.elements.compactMap { $0["method"]?.string }
                #expect(methods == ["POST", "GET"])
                #expect(try simulator.pushes().count == 2)
            }
        }

        @Test("C83: 5120 bytes go out, 5121 are refused with both numbers, and APNs hears nothing of them")
        func size() throws {
            try Self.run { gateway, simulator in
                let id = try create(gateway, "none")
                try follow(id, simulator)
                func send(_ count: Int) throws -> HTTPExchange.Answer {
                    let text = String(repeating: "x", count: count)
                    let body = #"{"businessId":1,"event":"update","contentState":{"a":"\#(text)"}}"#
                    return try request(gateway, "POST", "/v1/channels/\(escaped(id))/messages", body)
                }
                let frame = try #require(try send(0).json["payloadBytes"]?.integer)
                let largest = try send(5120 - Int(frame))
                #expect(try largest.json["payloadBytes"]?.integer == 5120)
                // More than an activity may hold, which APNs does not look at.
                #expect(try largest.json["warnings"]?.elements.first?["code"]?.string == "state_too_large")
                let refused = try send(5121 - Int(frame))
                #expect(refused.status == 422)
                let error = try #require(try refused.json["error"])
                #expect(error["code"]?.string == "payload_too_large" && error["field"]?.string == "payload")
                #expect(error["message"]?.string?.contains("5121 bytes, at most 5120") == true)
                #expect(try simulator.pushes().map { $0["bytes"]?.integer } == [frame, 5120])
                #expect(try shown(simulator)?.utf8.count == 5120 - Int(frame) + #"{"a":""}"#.utf8.count)
                try gateway.expectSQL("SELECT count(*) FROM channel_requests WHERE operation = 'send'", "2")
            }
        }

        @Test("A fault names its field, on the command line too, and APNs' own reason is passed on")
        func faults() throws {
            try Self.run { gateway, simulator in
                let gone = try channel(gateway, ["send", "--channel", "AAAA", "--content-state", "{}"])
                #expect(gone.status == 1)
                #expect(gone.errors.contains("channelId: APNs has no such channel"), "\(gone.errors)")
                #expect(gone.errors.contains(#""reason":"ChannelNotRegistered""#), "\(gone.errors)")
                let form = try channel(gateway, ["send", "--channel", "no base64", "--content-state", "{}"])
                #expect(form.errors.contains("channelId must be the id as APNs gave it"), "\(form.errors)")
                let state = try channel(gateway, ["send", "--channel", "AAAA"])
                #expect(state.errors.contains("contentState is missing"), "\(state.errors)")
                let other = #"{"businessId":1,"environment":"production","storage":"none"}"#
                let environment = try request(gateway, "POST", "/v1/channels", other)
                #expect(environment.status == 422)
                #expect(try environment.json["error"]?["field"]?.string == "environment")
                let unknown = try request(gateway, "GET", "/v1/channels?businessId=9")
                #expect(try unknown.json["error"]?["code"]?.string == "unknown_business_id")
                // The second certificate's key is none that the simulator knows.
                let refused = try request(gateway, "GET", "/v1/channels?businessId=2")
                #expect(refused.status == 502, "\(refused.text)")
                #expect(try refused.json["error"]?["apns"]?["reason"]?.string == "InvalidProviderToken")
                let held = try request(gateway, "GET", "/v1/channels?businessId=2")
                #expect(held.status == 502 && held.text.contains("nothing was sent"), "\(held.text)")
                #expect(try simulator.pushes().isEmpty)
                try gateway.expectSQL(
                    "SELECT outcome, apns_status, apns_reason FROM channel_requests ORDER BY requested_at DESC LIMIT 2",
                    "held||InvalidProviderToken\nrefused|403|InvalidProviderToken",
                )
            }
        }

        @Test("A broadcast's state is checked by every version of its type, and refused only if it fits none")
        func schema() throws {
            try Self.run { gateway, simulator in
                let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                for (version, member) in [("1.0", "var home: Int"), ("2.0", "var home: Int; var away: Int")] {
                    let file = "\(gateway.folder)/MatchAttributes.swift"
                    let source = """
                        struct MatchAttributes: ActivityAttributes {
                            struct ContentState: Codable, Hashable { \(member) }
                        }
                        """
                    _ = try ChildProcess.run("tee", [file], input: source)
                    let outcome = try gateway.livepush(["schema", "import", file, "--from-app-version", version] + app)
                    #expect(outcome.status == 0, "\(outcome.errors)")
                }
                try gateway.serve(simulator.options, trustsPeer: false)
                let id = try create(gateway, "none")
                func send(_ state: String, _ more: String...) throws -> ChildProcess.Outcome {
                    try channel(gateway, ["send", "--channel", id, "--content-state", state] + more)
                }
                let refused = try send(#"{"score":1}"#, "--attributes-type", "MatchAttributes")
                #expect(refused.status == 1)
                #expect(refused.errors.contains("contentState.home"), "\(refused.errors)")
                #expect(try simulator.pushes().isEmpty)
                let older = try json(send(#"{"home":1}"#))["warnings"]?.elements
                #expect(older?.map { $0["field"]?.string } == ["contentState.away"])
                #expect(older?.first?["message"]?.string?.contains("version 2 of MatchAttributes") == true)
                let both = try json(send(#"{"home":1,"away":0,"x":0}"#, "--attributes-type", "MatchAttributes"))
                #expect(both["warnings"]?.elements.map { $0["code"]?.string } == ["unknown_member"])
                let other = try json(send("{}", "--attributes-type", "Other"))["warnings"]?.elements
                #expect(other?.map { $0["code"]?.string } == ["attributes_type_unknown"])
                let unnamed = try send(#"{"score":1}"#)
                #expect(unnamed.status == 1)
                #expect(unnamed.errors.contains("contentState.home"), "\(unnamed.errors)")
                #expect(try simulator.pushes().count == 3)
            }
        }

        /// Puts an activity that follows the channel on a phone's lock screen.
        private func follow(_ channel: String, _ simulator: SimulatorUnderTest) throws {
            try simulator.post(
                "/tokens",
                """
                {"token":"\(TestPhone.token(bytes: 80))","environment":"sandbox","phone":"ann","activity":"match",\
                "channel":"\(channel)"}
                """,
            )
        }

        /// The state that the phone shows, as it came, of which it has ignored no push.
        private func shown(_ simulator: SimulatorUnderTest) throws -> String? {
            let phone = LockScreen(phone: try simulator.get("/phones/ann"))
            #expect(phone.ignored.isEmpty && phone.activities.count == 1)
            return phone.states.first ?? nil
        }

        private func escaped(_ id: String) -> String {
            id.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F")
        }
    }
}
