import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Cases of what an app decodes, to what is seen on the phone's lock screen.
    @Suite
    struct DecodedStateTests {
        private func run(
            _ state: String,
            types: String = "",
            policy: [String] = [],
            _ test: (LockScreens) throws -> Void,
        ) throws {
            try LockScreens.run(
                prepare: { gateway in
                    try gateway.importSchema(state, types: types)
                    let app = ["app", "set", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                    let isSet = try policy.isEmpty || gateway.livepush(app + policy).status == 0
                    #expect(isSet)
                },
                test,
            )
        }

        private func state(_ text: String) -> TestMessage {
            TestMessage { $0.contentState = text }
        }

        /// Posts states that are refused, each with its member and some words, and states that are seen on the phone as
        /// they were sent.
        private func expect(
            refused: [(state: String, member: String, words: String)],
            shown: String...,
            on screens: LockScreens,
            sourceLocation: SourceLocation = #_sourceLocation,
        ) throws {
            try screens.register()
            for (text, member, words) in refused {
                let field = "ContentState.\(member)"
                try screens.expectRefusal(state(text), of: field, words, sourceLocation: sourceLocation)
            }
            #expect(try screens.simulator.pushes().isEmpty, sourceLocation: sourceLocation)
            #expect(try screens.phone().states == [nil], sourceLocation: sourceLocation)
            for text in shown {
                _ = try screens.post(state(text), sourceLocation: sourceLocation)
                let seen = try screens.phone()
                #expect(seen.states == [text], sourceLocation: sourceLocation)
                #expect(seen.ignored.isEmpty && seen.notifications.isEmpty, sourceLocation: sourceLocation)
            }
            #expect(try screens.simulator.pushes().count == shown.count, sourceLocation: sourceLocation)
        }

        // MARK: - Dates

        @Test("C60: Unix seconds, milliseconds or text in a Date never reach the phone, seconds since 2001 do")
        func dates() throws {
            try run("var endTime: Date?") { screens in
                try expect(
                    refused: [
                        (#"{"endTime":1796007172}"#, "endTime", "817699972"),
                        (#"{"endTime":1796007172000}"#, "endTime", "817699972"),
                        (#"{"endTime":"2026-11-30T02:52:52Z"}"#, "endTime", "817699972"),
                    ],
                    shown: #"{"endTime":817699972}"#,
                    on: screens,
                )
            }
        }

        @Test(
            "C60: with convert on the phone shows the number that Swift's Date decodes, and ISO text is refused still"
        )
        func converted() throws {
            try run("var endTime: Date?", policy: ["--content-state-convert", "on"]) { screens in
                try screens.register()
                _ = try screens.post(state(#"{"endTime":1796007172}"#))
                #expect(try screens.phone().states == [#"{"endTime":817699972}"#])
                try screens.expectRefusal(state(#"{"endTime":"2026-11-30T02:52:52Z"}"#), of: "ContentState.endTime")
                let seen = try screens.phone()
                #expect(seen.states == [#"{"endTime":817699972}"#] && seen.ignored.isEmpty)
                #expect(try screens.simulator.pushes().count == 1)
            }
        }

        // MARK: - Members

        @Test(
            "C61: keys with a prefix are refused for the missing one and never reach the phone; an unknown one is told"
        )
        func prefixedKeys() throws {
            try run("var text: String") { screens in
                try expect(refused: [(#"{"E5_text":"x"}"#, "text", "missing")], shown: #"{"text":"x"}"#, on: screens)
                let refused = try screens.gateway.post(state(#"{"E5_text":"x"}"#))
                let warning = refused["Warnings"]?.elements.first
                #expect(warning?["Code"]?.string == "unknown_member", "\(refused.text)")
                #expect(warning?["Field"]?.string?.hasSuffix("ContentState.E5_text") == true)
            }
        }

        @Test("C62: a start whose attributes lack the struct's own member is refused; with it the card comes up")
        func attributes() throws {
            let prepare = { (gateway: GatewayUnderTest) in
                _ = try gateway.importSchema(
                    "var totalDays: Int",
                    types: "struct Goal: Codable, Hashable { var name: String }",
                    attributes: "let goal: Goal",
                )
            }
            try LockScreens.run(prepare: prepare) { screens in
                try screens.registerStart()
                let days = #"{"totalDays":7}"#
                try screens.expectRefusal(
                    LockScreens.start(state: days, attributes: days),
                    of: "Attributes.goal",
                    "missing",
                )
                #expect(try screens.simulator.pushes().isEmpty)
                #expect(try screens.phone().activities.isEmpty)
                _ = try screens.post(LockScreens.start(state: days, attributes: #"{"goal":{"name":"run"}}"#))
                let seen = try screens.phone()
                #expect(seen.states == [days] && seen.ignored.isEmpty)
            }
        }

        @Test("C77: a phone whose app has the first version shows a state without the member that the second requires")
        func versions() throws {
            let prepare = { (gateway: GatewayUnderTest) in
                _ = try gateway.importSchema("var a: Int")
                _ = try gateway.importSchema("var a: Int; var b: String", from: "2.0")
            }
            try LockScreens.run(prepare: prepare) { screens in
                try screens.register(phone: "old", appVersion: "1.9")
                try screens.register(phone: "new", appVersion: "2.0.1")
                _ = try screens.post(state(#"{"a":1}"#))
                #expect(try screens.phone("old").states == [#"{"a":1}"#])
                #expect(try screens.phone("new").states == [nil])
                let refused = "SELECT left(apns_reason, 42) FROM recent_deliveries WHERE installation = 'new'"
                #expect(try screens.gateway.sql(refused) == "content_state_refused: content-state.b: St")
                _ = try screens.post(state(#"{"a":2,"b":"x"}"#))
                for name in ["old", "new"] {
                    let seen = try screens.phone(name)
                    #expect(seen.states == [#"{"a":2,"b":"x"}"#] && seen.ignored.isEmpty, "\(name)")
                }
                #expect(try screens.simulator.pushes().count == 3)
            }
        }

        // MARK: - Values

        @Test("C79: a Double takes 10, an Int takes 10.0 and not 10.5, and the phone shows the digits that were sent")
        func numbers() throws {
            try run("var d: Double; var i: Int") { screens in
                try expect(
                    refused: [(#"{"d":10,"i":10.5}"#, "i", "whole")],
                    shown: #"{"d":10,"i":10.0}"#,
                    on: screens,
                )
            }
        }

        @Test("C80: booleans and numbers arrive as the types that they are, and a Bool takes no 1")
        func booleans() throws {
            try run("var flag: Bool; var n: Int; var z: Double; var f: Bool") { screens in
                try expect(
                    refused: [
                        (#"{"flag":1,"n":1,"z":0,"f":false}"#, "flag", "Bool"),
                        (#"{"flag":true,"n":true,"z":0,"f":false}"#, "n", "Int"),
                        (#"{"flag":true,"n":1,"z":0,"f":0}"#, "f", "Bool"),
                    ],
                    shown: #"{"flag":true,"n":1,"z":0,"f":false}"#,
                    on: screens,
                )
            }
        }

        @Test("C85: what Swift's synthesized decoding takes is seen on the phone, what it does not take is refused")
        func shapes() throws {
            let types = """
                enum Leg: Codable, Hashable { case one(Int) }
                enum Plain: Codable, Hashable { case a }
                """
            let members = "var leg: Leg?; var plain: Plain?; var ids: [UUID: Int]?; var data: Data?; var date: Date?"
            let id = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
            try run(members, types: types) { screens in
                try expect(
                    refused: [
                        (#"{"leg":{"one":1}}"#, "leg.one", ""), (#"{"plain":"a"}"#, "plain", "Plain"),
                        (#"{"ids":{"\#(id)":1}}"#, "ids", "array"), (#"{"data":"AQI"}"#, "data", "base64"),
                        (#"{"date":""}"#, "date", "Date"),
                    ],
                    shown: #"{"leg":{"one":{"_0":1}}}"#,
                    #"{"plain":{"a":{}}}"#,
                    #"{"ids":["\#(id)",1]}"#,
                    #"{"data":"AQI="}"#,
                    #"{"date":null}"#,
                    on: screens,
                )
            }
        }

        @Test("C83: 4096 bytes are seen on the phone, 4097 are refused with both counts, and the phone hears nothing")
        func size() throws {
            try LockScreens.run { screens in
                try screens.register()
                let text = { (count: Int) in #"{"pad":"\#(String(repeating: "x", count: count))"}"# }
                _ = try screens.post(state(text(0)))
                _ = try screens.phone()
                let frame = Int(try #require(try screens.simulator.pushes().first?["bytes"]?.integer))
                _ = try screens.post(state(text(4096 - frame)))
                #expect(try screens.phone().states == [text(4096 - frame)])
                try screens.expectRefusal(state(text(4097 - frame)), of: "", "4097", "4096")
                let seen = try screens.phone()
                #expect(seen.states == [text(4096 - frame)] && seen.ignored.isEmpty)
                #expect(try screens.simulator.pushes().map { $0["bytes"]?.integer } == [Int64(frame), 4096])
            }
        }
    }
}
