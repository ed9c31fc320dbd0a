import TestSupport
import Testing
import VerbatimJSON

/// What would become of a push to a broadcast channel.
extension EndToEndTests.ExplainTests {
    /// A gateway, its simulator, and a channel.
    private func run(
        storage: String,
        _ test: (GatewayUnderTest, SimulatorUnderTest, String) throws -> Void,
    ) throws {
        let gateway = try GatewayUnderTest()
        defer { gateway.end() }
        let simulator = try SimulatorUnderTest(folder: gateway.folder)
        try gateway.serve(simulator.options, trustsPeer: false)
        let body = #"{"businessId":1,"storage":"\#(storage)"}"#
        let id = try #require(post(gateway, "/v1/channels", body).json["channelId"]?.string)
        try test(gateway, simulator, id)
    }

    private func post(_ gateway: GatewayUnderTest, _ target: String, _ body: String) throws -> HTTPExchange.Answer {
        let authorization = "Authorization: Bearer \(try gateway.userSig("administrator"))"
        return try HTTPExchange("POST", port: gateway.port, target, headers: [authorization], body: body).answer()
    }

    private func path(_ id: String) -> String {
        "/v1/channels/\(id.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F"))/messages"
    }

    /// Asks what would become of a push, and finds that APNs was asked nothing and nothing was written.
    private func explain(
        _ gateway: GatewayUnderTest,
        _ simulator: SimulatorUnderTest,
        _ id: String,
        _ body: String,
    ) throws -> HTTPExchange.Answer {
        func heard() throws -> [Int] {
            [try simulator.pushes().count, try simulator.get("/channels")["requests"]?.elements.count ?? 0]
        }
        let before = (try tables(gateway), try heard())
        let answer = try post(gateway, path(id) + "?explain=1", body)
        #expect(try (tables(gateway), heard()) == before)
        return answer
    }

    @Test("A push to a channel: what is explained is what is sent, and nothing is before")
    func channelPush() throws {
        try run(storage: "none") { gateway, simulator, id in
            for body in [
                #"""
                {"businessId":1,"event":"update","contentState":{"home": 1.50},"ttl":600,"priority":5,
                 "alert":{"title":"Goal","body":"1:0"}}
                """#,
                #"{"businessId":1,"event":"end","contentState":{"home":2}}"#,
            ] {
                let explained = try explain(gateway, simulator, id, body)
                #expect(explained.status == 200, "\(explained.text)")
                let told = try explained.json
                #expect(told["outcome"]?.string == "to_be_sent" && told["requestId"]?.string == "")
                let channel = try #require(told["explain"]?["channel"])
                #expect(channel["channelId"]?.string == id && channel["storage"]?.string == "none")
                #expect(channel["createdAt"] != nil && channel["lastRequest"]?["outcome"]?.string == "accepted_by_apns")
                #expect(told["explain"]?["payloadLimit"]?.integer == 5120)
                #expect(told["explain"]?["content"] == nil)
                #expect(
                    told["explain"]?["priorityReason"]?.string == (body.contains("priority") ? "caller" : "default")
                )

                let sent = try post(gateway, path(id), body).json
                for name in ["bundleId", "environment", "priority", "expiration", "payloadBytes", "warnings"] {
                    #expect(told[name]?.text == sent[name]?.text)
                }
                #expect((sent["timestamp"]?.integer ?? 0) - (told["timestamp"]?.integer ?? 0) <= 3)
                let push = try #require(simulator.pushes().last)
                func timeless(_ value: JSONValue?) -> String {
                    (value?.text ?? "").replacing(#/"timestamp":\d+/#, with: "")
                }
                #expect(timeless(told["explain"]?["payload"]) == timeless(push["payload"]))
                #expect(told["explain"]?["headers"]?[":path"]?.string == push["path"]?.string)
                for header in push["headers"]?.members ?? [] where header.key != "authorization" {
                    guard header.key != "apns-request-id" else { continue }
                    #expect(told["explain"]?["headers"]?[header.key]?.string == header.value.string)
                }
            }
            // A timestamp that was claimed for later than now is passed.
            try gateway.sql("UPDATE channel SET last_timestamp = 4000000000")
            let body = #"{"businessId":1,"event":"update","contentState":{}}"#
            #expect(try explain(gateway, simulator, id, body).json["timestamp"]?.integer == 4_000_000_001)
        }
    }

    @Test(
        "A channel that is not known here is told as such, one that is gone gets nothing, and faults are those of sending"
    )
    func channelState() throws {
        try run(storage: "none") { gateway, simulator, id in
            let body = #"{"businessId":1,"event":"update","contentState":{}}"#
            try gateway.sql("DELETE FROM channel; DELETE FROM channel_request")
            let unknown = try explain(gateway, simulator, id, body).json
            #expect(unknown["explain"]?["warnings"]?.elements.map { $0["code"]?.string } == ["channel_unknown"])
            #expect(unknown["explain"]?["channel"]?["storage"]?.kind == .null)
            #expect(unknown["explain"]?["result"]?.string == "push")

            let file = "\(gateway.folder)/push.json"
            _ = try ChildProcess.run("tee", [file], input: body)
            let command = ["explain", file, "--sdk-app-id", Self.app, "--path", path(id)]
            let told = try gateway.livepush(command)
            #expect(told.status == 0, "\(told.errors)")
            #expect(told.output.contains("\(id): gets a push"))
            #expect(told.output.contains("apns-channel-id: \(id)"))
            #expect(told.output.contains(" of 5120 bytes:"))

            let authorization = "Authorization: Bearer \(try gateway.userSig("administrator"))"
            let channel = String(path(id).dropLast("/messages".count)) + "?businessId=1"
            let deleted = try HTTPExchange("DELETE", port: gateway.port, channel, headers: [authorization]).answer()
            #expect(deleted.status == 200)
            let gone = try explain(gateway, simulator, id, body).json
            #expect(gone["explain"]?["result"]?.string == "nothing" && gone["outcome"]?.string == "refused")
            #expect(gone["explain"]?["warnings"]?.elements.map { $0["code"]?.string } == ["channel_gone"])
            let missed = try gateway.livepush(command + ["--json"])
            #expect(missed.status == 1 && missed.errors.contains("nothing goes to anybody"), "\(missed.errors)")
            #expect(missed.output.contains("channel_gone"))

            for (fault, status, code) in [
                (#"{"businessId":9,"event":"update","contentState":{}}"#, 422, "unknown_business_id"),
                (#"{"businessId":1,"event":"start","contentState":{}}"#, 422, "invalid_value"),
                ("{", 400, "malformed_json"),
            ] {
                let refused = try explain(gateway, simulator, id, fault)
                #expect(refused.status == status)
                #expect(try refused.json["error"]?["code"]?.string == code)
                #expect(refused.text == (try post(gateway, path(id), fault).text))
            }
            _ = try ChildProcess.run("tee", [file], input: "{}")
            let refused = try gateway.livepush(command)
            #expect(
                refused.status == 1 && refused.errors.contains("the request is refused: event"),
                "\(refused.errors)"
            )
            let creation = try post(gateway, "/v1/channels?explain=1", #"{"businessId":1,"storage":"none"}"#)
            #expect(creation.status == 400)
            #expect(try creation.json["error"]?["code"]?.string == "explain_not_supported")
            let phone = "Authorization: Bearer \(try gateway.userSig("alice"))"
            let target = path(id) + "?explain=1"
            let forbidden = try HTTPExchange("POST", port: gateway.port, target, headers: [phone], body: body).answer()
            #expect(forbidden.status == 403)
        }
    }

    @Test("What each version of a channel's type says is told")
    func channelSchema() throws {
        try run(storage: "recent") { gateway, simulator, id in
            for (version, member) in [("1.0", "var home: Int"), ("2.0", "var home: Int; var away: Int")] {
                let file = "\(gateway.folder)/MatchAttributes.swift"
                let source = """
                    struct MatchAttributes: ActivityAttributes {
                        struct ContentState: Codable, Hashable { \(member) }
                    }
                    """
                _ = try ChildProcess.run("tee", [file], input: source)
                try gateway.succeed("schema", "import", file, "--from-app-version", version, "--sdk-app-id", Self.app)
            }
            try gateway.serve(simulator.options, trustsPeer: false)
            let body = #"{"businessId":1,"event":"update","contentState":{"home":1}}"#
            let told = try explain(gateway, simulator, id, body).json
            #expect(
                told["explain"]?["content"]?.text
                    == #"[{"verdict":"fits","schema":"version 1 of MatchAttributes"},"#
                    + #"{"verdict":"sent_all_the_same","schema":"version 2 of MatchAttributes","notices":"#
                    + #"[{"place":"content-state.away","code":"content_state_unfit","message":"Int is missing"}]}]"#
            )
            #expect(told["warnings"]?.elements.map { $0["field"]?.string } == ["contentState.away"])
            let refused = try explain(
                gateway,
                simulator,
                id,
                #"{"businessId":1,"event":"update","contentState":{"home":"1"}}"#,
            )
            #expect(refused.status == 422 && refused.text.contains("contentState.home"))
        }
    }
}
