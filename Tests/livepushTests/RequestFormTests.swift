import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Requests in the forms that clients of Tencent's API give them, sent by curl.
    @Suite
    struct RequestFormTests {
        /// A UserSig of the administrator in which both signs that clients treat differently occur: `*` and `_`.
        private static func userSig(_ gateway: GatewayUnderTest) throws -> String {
            for expire in 86_400..<86_500 {
                let made = try gateway.succeed(
                    "usersig",
                    "--sdk-app-id",
                    "\(GatewayUnderTest.sdkAppID)",
                    "--identifier",
                    "administrator",
                    "--expire",
                    "\(expire)",
                ).trimmed
                if made.contains("*"), made.contains("_") { return made }
            }
            throw ChildProcess.Failure("a hundred UserSigs, and none with * and _")
        }

        /// Runs curl, which must get its answers within ten seconds.
        private static func curl(_ arguments: [String], input: String = "") throws -> String {
            let outcome = try ChildProcess.run(
                "curl",
                ["--silent", "--show-error", "--globoff", "--max-time", "10"] + arguments,
                input: input,
            )
            guard outcome.status == 0 else { throw ChildProcess.Failure("curl: \(outcome.errors)") }
            return outcome.output
        }

        @Test("Any order of parameters, either form of *, any random or none, and any Content-Type or none")
        func formsOfEnvelopes() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let phone = try gateway.register(laID: nil)
                let userSig = try Self.userSig(gateway)
                let escaped = userSig.replacing("*", with: "%2A").replacing("_", with: "%5F")
                let app = "sdkappid=\(GatewayUnderTest.sdkAppID)"
                let who = "identifier=administrator"
                let forms = [
                    // PyPI's clients: no Content-Type, the signature escaped.
                    ("\(app)&\(who)&usersig=\(escaped)&random=3724928731&contenttype=json", ["Content-Type:"]),
                    // A Java client for pushes.
                    (
                        "usersig=\(userSig)&\(who)&\(app)&random=99999999&contenttype=json",
                        ["Content-Type: application/json; charset=utf-8"]
                    ),
                    // PHP clients.
                    (
                        "\(app)&\(who)&usersig=\(escaped)&contenttype=json&random=56",
                        ["Content-Type: application/json", "Accept: application/json", "Connection: keep-alive"]
                    ),
                    // Those who write their own: the same random for ever, none, no contenttype, what curl sends.
                    ("\(app)&\(who)&usersig=\(userSig)&random=99999999", ["Content-Type: text/plain;charset=UTF-8"]),
                    ("contenttype=json&usersig=\(userSig)&\(app)&\(who)", ["Content-Type: multipart/form-data"]),
                    ("\(who)&usersig=\(userSig)&\(app)", []),
                ]
                for (query, headers) in forms {
                    let answer = try Self.curl(
                        headers.flatMap { ["--header", $0] } + [
                            "--data-binary", "@-", "http://127.0.0.1:\(server.port)/v4/openim/sendmsg?\(query)",
                        ],
                        input: TestMessage { $0.laID = nil }.json,
                    )
                    #expect(answer.contains(#""ActionStatus":"OK""#), "\(query): \(answer)")
                }
                #expect(try gateway.peer.exactly(forms.count).allSatisfy { $0.token == phone.deviceToken })
            }
        }

        @Test("A + is no blank and no *: the UserSig is malformed")
        func plusIsNoBlank() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let userSig = try Self.userSig(gateway)
                for sign in ["+", "%2B", "%20"] {
                    let query =
                        "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator"
                        + "&usersig=\(userSig.replacing("*", with: sign))"
                    let answer = try Self.curl(
                        ["--data-binary", "@-", "http://127.0.0.1:\(server.port)/v4/openim/sendmsg?\(query)"],
                        input: TestMessage().json,
                    )
                    #expect(answer.contains(#""ErrorCode":70003"#), "\(sign): \(answer)")
                }
            }
        }

        @Test("A large body is asked for where the client waits for that, and one that is too large is not")
        func largeBodies() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let query =
                    "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator"
                    + "&usersig=\(try gateway.userSig("administrator"))"
                // Longer than the whole request may take: it fails unless the gateway says that it may go on.
                let patience = ["--header", "Expect: 100-continue", "--expect100-timeout", "60"]
                let url = "http://127.0.0.1:\(server.port)/v4/openim/batchsendmsg?\(query)"
                // 500 accounts of 128 bytes: 64 KB, as large as a request gets that is in order.
                let accounts = (100..<600).map { "\($0)" + String(repeating: "x", count: 125) }
                let answer = try Self.curl(
                    patience + ["--data-binary", "@-", url],
                    input: TestMessage { $0.recipients = accounts }.json,
                )
                #expect(answer.contains(#""ActionStatus":"OK""#), "\(answer)")

                let refused = try Self.curl(
                    patience + ["--write-out", " %{http_code} %{size_upload}", "--data-binary", "@-", url],
                    input: String(repeating: " ", count: 2 << 20) + "{}",
                )
                #expect(refused.hasSuffix(" 413 0"), "\(refused)")
                try gateway.expectSQL("SELECT count(*) FROM message", "1")
            }
        }

        @Test("HTTP/1.0 with keep-alive, as old PHP sends it, is answered and closed; HTTP/1.1 keeps the connection")
        func keepAlive() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let query =
                    "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator"
                    + "&usersig=\(try gateway.userSig("administrator"))"
                let url = "http://127.0.0.1:\(server.port)/v4/openim/sendmsg?\(query)"
                let request = [
                    "--header", "Connection: keep-alive", "--write-out", " %{http_code} %{num_connects}\n", "--data",
                    TestMessage().json, url,
                ]
                for (version, connections) in [("--http1.0", ["1", "1"]), ("--http1.1", ["1", "0"])] {
                    let usual = ["--silent", "--show-error", "--max-time", "10", version]
                    let output = try Self.curl([version] + request + ["--next"] + usual + request)
                    let answers = output.split(separator: "\n")
                    #expect(answers.count == 2)
                    for (answer, connections) in zip(answers, connections) {
                        #expect(answer.contains(#""ActionStatus":"OK""#))
                        #expect(answer.hasSuffix(" 200 \(connections)"), "\(version): \(answer)")
                    }
                }
            }
        }
    }
}
