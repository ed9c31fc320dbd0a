import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// `livepush registrations import`.
    @Suite
    struct RegistrationsImportTests {
        private static let header = "kind,account,installation,token,business_id,la_id,language,started_at"

        private static func run(_ test: (GatewayUnderTest) throws -> Void) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try test(gateway)
        }

        /// A token that differs from those of other numbers.
        private static func token(_ number: Int, bytes: Int = 32) -> String {
            let hex = String(number, radix: 16)
            return String(repeating: "0", count: bytes * 2 - hex.count) + hex
        }

        private static func device(_ account: String, _ installation: String, _ token: Int, _ language: String = "")
            -> String
        {
            "device,\(account),\(installation),\(self.token(token)),1,,\(language),"
        }

        private static func activity(_ account: String, _ installation: String, _ laID: String, _ token: Int) -> String
        {
            "activity,\(account),\(installation),\(self.token(token, bytes: 80)),1,\(laID),,"
        }

        private static func write(_ lines: [String], to name: String, of gateway: GatewayUnderTest) throws -> String {
            let path = "\(gateway.folder)/\(name)"
            let text = ([header] + lines).joined(separator: "\r\n") + "\r\n"
            _ = try ChildProcess.run("sh", ["-c", "cat > \"$0\"", path], input: text)
            return path
        }

        private static func run(_ gateway: GatewayUnderTest, _ words: String...) throws -> ChildProcess.Outcome {
            try gateway.livepush(["registrations", "import", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"] + words)
        }

        private static func summary(imported: Int = 0, unchanged: Int = 0, kept: Int = 0, refused: Int = 0) -> String {
            "\(imported + unchanged + kept + refused) registrations, \(imported) imported, \(unchanged) unchanged, "
                + "\(kept) kept, \(refused) refused"
        }

        private static let devices =
            "SELECT account, installation, ltrim(encode(token, 'hex'), '0') FROM device ORDER BY 2"
        private static let activities = """
            SELECT account, installation, la_id, ltrim(encode(token, 'hex'), '0') FROM live_activity ORDER BY 2, 3
            """

        // MARK: -

        @Test("An imported phone gets a Live Activity push, and a notification for what it did not register")
        func importedPhoneIsPushedTo() throws {
            try GatewayUnderTest.run { gateway in
                let file = try Self.write(
                    [Self.device("alice", "phone-1", 0xA), Self.activity("alice", "phone-1", "order-1", 0xB)],
                    to: "phones.csv",
                    of: gateway
                )
                let outcome = try Self.run(gateway, file)
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(outcome.output == "Done: \(Self.summary(imported: 2))\n")
                try gateway.send()
                try gateway.send { $0.laID = "order-9" }
                let pushes = try gateway.peer.exactly(2)
                #expect(Set(pushes.map(\.token)) == [Self.token(0xB, bytes: 80), Self.token(0xA)])
                let held = try gateway.phone("alice", "GET", "/v1/registrations")
                #expect(held["registrations"]?.elements.count == 2)
                // The phone registers itself, and is the truth from then on.
                let phone = TestPhone(installation: "phone-1", deviceToken: Self.token(0xC))
                try gateway.register("alice", device: phone)
                let again = try Self.run(gateway, file, "--again")
                #expect(again.output == "Done: \(Self.summary(unchanged: 1, kept: 1))\n")
                #expect(try gateway.sql(Self.devices) == "alice|phone-1|c")
            }
        }

        @Test("A file is imported once, in many batches, and known again under another name")
        func finishedFileIsKnown() throws {
            try Self.run { gateway in
                let lines = (0..<2500).map { number in
                    number.isMultiple(of: 2)
                        ? Self.device("user-\(number)", "phone-\(number)", number + 1)
                        : Self.activity("user-\(number - 1)", "phone-\(number - 1)", "order", number + 1)
                }
                let file = try Self.write(lines, to: "phones.csv", of: gateway)
                #expect(try Self.run(gateway, file).output == "Done: \(Self.summary(imported: 2500))\n")
                #expect(try gateway.sql("SELECT count(*), count(DISTINCT account) FROM device") == "1250|1250")
                #expect(try gateway.sql("SELECT count(*) FROM live_activity") == "1250")
                let copy = try Self.write(lines, to: "copy.csv", of: gateway)
                let second = try Self.run(gateway, copy)
                #expect(second.status == 0)
                #expect(second.output.hasPrefix("This file was imported before: \(Self.summary(imported: 2500))"))
                let third = try Self.run(gateway, copy, "--again")
                #expect(third.output == "Done: \(Self.summary(unchanged: 2500))\n")
                #expect(try gateway.sql("SELECT count(*) FROM registration_transfer") == "0")
                #expect(
                    try gateway.sql("SELECT unchanged, lines_done, bytes_done = bytes FROM registration_import")
                        == "2500|2501|t"
                )
            }
        }

        @Test("An import that breaks off goes on where it stopped, with one report of all refused lines")
        func interruptedImportGoesOn() throws {
            try Self.run { gateway in
                var lines = (0..<4000).map { Self.device("user-\($0)", "phone-\($0)", $0 + 1) }
                lines[10] = "device,user-10,phone 10,\(Self.token(11)),1,,,"
                lines[2500] = "device,user-2500,phone-2500,short,1,,,"
                lines[3990] = "device,user-3990,phone-3990,\(Self.token(3991)),7,,,"
                let file = try Self.write(lines, to: "phones.csv", of: gateway)
                try gateway.failStatements(on: "device", when: "NEW.installation = 'phone-2600'")
                let broken = try Self.run(gateway, file)
                #expect(broken.status == 1)
                #expect(broken.errors.contains("P0001"), "\(broken.errors)")
                #expect(try gateway.sql("SELECT count(*) FROM device") == "1999")
                let progress = "SELECT imported, refused, finished_at IS NULL, lines_done FROM registration_import"
                #expect(try gateway.sql(progress) == "1999|1|t|2001")

                try gateway.sql("DROP TRIGGER fail ON device")
                let resumed = try Self.run(gateway, file)
                #expect(resumed.status == 1)
                #expect(
                    resumed.output == """
                        Going on with line 2002
                        Done: \(Self.summary(imported: 3997, refused: 3))

                        """
                )
                #expect(resumed.errors.contains("3 lines were refused; see \(file).refused.csv"))
                #expect(try gateway.sql("SELECT count(*) FROM device") == "3997")
                #expect(
                    try ChildProcess.run("cat", [file + ".refused.csv"]).output.split(separator: "\r\n") == [
                        "line,field,reason", #"12,installation,"an installation is 1 to 64 of A-Z a-z 0-9 . _ -""#,
                        #"2502,token,"the token is neither hexadecimal nor base64""#,
                        #"3992,business_id,"the app has no certificate with business_id 7""#,
                    ]
                )
            }
        }

        @Test("A finished file that had refused lines exits 1 each time it is given")
        func refusedLinesAreNotForgotten() throws {
            try Self.run { gateway in
                let lines = [Self.device("alice", "phone-1", 1), "device,bob,phone 2,\(Self.token(2)),1,,,"]
                let file = try Self.write(lines, to: "phones.csv", of: gateway)
                #expect(try Self.run(gateway, file).status == 1)
                let second = try Self.run(gateway, file)
                #expect(second.status == 1)
                #expect(second.output.hasPrefix("This file was imported before"), "\(second.output)")
                #expect(second.errors.contains("1 line was refused then; --again"), "\(second.errors)")
            }
        }

        @Test(
            "What is no CSV with commas in UTF-8 is named, of registrations and of segments",
            arguments: [
                ("cat", "semicolons stand between the columns"), ("tr ';' '\t'", "tabs stand between the columns"),
                ("iconv -t UTF-16", "UTF-16"), ("iconv -t UTF-16BE", "UTF-16"), ("gzip", "compressed with gzip"),
            ],
        )
        func foreignFormIsNamed(filter: String, words: String) throws {
            try Self.run { gateway in
                let path = "\(gateway.folder)/foreign.csv"
                for (command, header) in [
                    (["registrations"], "kind;account;installation;token;business_id"),
                    (["segment", "--segment", "vip"], "account;installation"),
                ] {
                    _ = try ChildProcess.run("sh", ["-c", "\(filter) > \"$0\"", path], input: header + "\n")
                    let operands = ["import", path, "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                    let outcome = try gateway.livepush([command[0]] + operands + command.dropFirst())
                    #expect(outcome.status == 1)
                    #expect(outcome.errors.contains(words), "\(outcome.errors)")
                }
            }
        }

        @Test(
            "What a phone registered or cleared itself is kept, unless the import replaces; nothing is in two accounts"
        )
        func phonesComeFirst() throws {
            try GatewayUnderTest.run { gateway in
                func register(_ account: String, _ installation: String, _ token: Int, _ activity: Int? = nil) throws {
                    let phone = TestPhone(
                        installation: installation,
                        deviceToken: Self.token(token),
                        activityToken: Self.token(activity ?? 0, bytes: 80)
                    )
                    try gateway.register(account, device: phone)
                    if activity != nil { try gateway.register(account, activity: "order", phone) }
                }
                try register("own", "p1", 1, 0xA1)
                try register("taken", "p2", 2, 0xA2)
                try register("token", "p3", 3)
                try register("gone", "p5", 5)
                try gateway.phone("gone", "DELETE", "/v1/devices/p5?sequence=7")
                let lines = [
                    Self.device("own", "p1", 1), Self.activity("own", "p1", "order", 0xA1),
                    Self.device("own", "p1", 0xB1), Self.activity("own", "p1", "order", 0xB2),
                    Self.activity("own", "p1", "order-2", 0xB3), Self.device("other", "p2", 0xB4),
                    Self.activity("other", "p2", "x", 0xB5), Self.device("token", "p4", 3),
                    Self.device("gone", "p5", 5),
                ]
                let file = try Self.write(lines, to: "phones.csv", of: gateway)
                let first = try Self.run(gateway, file)
                #expect(first.output == "Done: \(Self.summary(imported: 1, unchanged: 2, kept: 6))\n")
                #expect(try gateway.sql(Self.devices) == "own|p1|1\ntaken|p2|2\ntoken|p3|3")
                #expect(try gateway.sql(Self.activities) == "own|p1|order|a1\nown|p1|order-2|b3\ntaken|p2|order|a2")

                let second = try Self.run(gateway, file, "--again", "--replace")
                #expect(second.status == 0, "\(second.errors)")
                #expect(try gateway.sql(Self.devices) == "own|p1|b1\nother|p2|b4\ntoken|p4|3\ngone|p5|5")
                #expect(try gateway.sql(Self.activities) == "own|p1|order|b2\nown|p1|order-2|b3\nother|p2|x|b5")
                #expect(
                    try gateway.sql("SELECT from_account, to_account, installation FROM registration_transfer")
                        == "taken|other|p2"
                )
            }
        }

        @Test("Of two lines with the same installation or token the later wins, near by or thousands of lines apart")
        func laterLineWins() throws {
            try Self.run { gateway in
                let early = [
                    Self.device("a", "p1", 1, "en"), Self.activity("a", "p1", "x", 1), Self.device("b", "p2", 2),
                    Self.device("c", "p3", 3), Self.activity("c", "p3", "x", 3), Self.device("d", "p4", 4),
                ]
                let late = [
                    // A new token, another account on the installation, a token on another installation, new words.
                    Self.device("a", "p1", 0x11, "de"), Self.activity("a", "p1", "x", 0x11),
                    Self.device("e", "p2", 0x12),
                    Self.device("f", "p13", 3), Self.device("d", "p4", 4, "fr"),
                ]
                let between = (100..<2300).map { Self.device("user-\($0)", "phone-\($0)", $0) }
                let expected = (
                    devices: "a|p1|11\nf|p13|3\ne|p2|12\nd|p4|4",
                    activities: "a|p1|x|11",
                    languages: "de\nfr"
                )
                for (name, lines) in [("near.csv", early + late), ("far.csv", early + between + late)] {
                    try gateway.sql("DELETE FROM device; DELETE FROM live_activity")
                    let outcome = try Self.run(gateway, try Self.write(lines, to: name, of: gateway))
                    #expect(outcome.output == "Done: \(Self.summary(imported: lines.count))\n")
                    try gateway.sql("DELETE FROM device WHERE installation LIKE 'phone-%'")
                    #expect(try gateway.sql(Self.devices) == expected.devices, "\(name)")
                    #expect(try gateway.sql(Self.activities) == expected.activities, "\(name)")
                    #expect(
                        try gateway.sql("SELECT language FROM device WHERE language IS NOT NULL ORDER BY 1")
                            == expected.languages
                    )
                }
            }
        }

        // MARK: - Push-to-start tokens

        private static func start(
            _ account: String,
            _ installation: String,
            _ type: String,
            _ token: Int,
            os: String = "",
        ) -> String {
            "start,\(account),\(installation),\(self.token(token)),1,,\(type),\(os)"
        }

        /// A file that names the columns of push-to-start tokens.
        private static func writeStarts(_ lines: [String], to name: String, of gateway: GatewayUnderTest) throws
            -> String
        {
            let path = "\(gateway.folder)/\(name)"
            let header = "kind,account,installation,token,business_id,la_id,attributes_type,os_version"
            _ = try ChildProcess.run(
                "sh",
                ["-c", "cat > \"$0\"", path],
                input: ([header] + lines).joined(separator: "\n") + "\n",
            )
            return path
        }

        private static let starts = """
            SELECT account, installation, attributes_type, ltrim(encode(token, 'hex'), '0') FROM start_token
            ORDER BY 2, 3
            """

        @Test("An imported push-to-start token gets a start, and the phone's own takes its place")
        func importedStartToken() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed("app", "set", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", "--extensions", "on")
            try gateway.serve()
            let file = try Self.writeStarts(
                [
                    Self.start("alice", "phone-1", "Order", 0xA, os: "18.0"), Self.start("alice", "phone-1", "", 1),
                    "device,alice,phone-1,\(Self.token(0xD)),1,,,",
                ],
                to: "phones.csv",
                of: gateway
            )
            let outcome = try Self.run(gateway, file)
            #expect(outcome.output == "Done: \(Self.summary(imported: 2, refused: 1))\n")
            #expect(
                try ChildProcess.run("cat", [file + ".refused.csv"]).output
                    == "line,field,reason\r\n3,attributes_type,\"attributes_type is missing\"\r\n"
            )
            #expect(
                try gateway.sql(
                    "SELECT kind, attributes_type, os_version, state FROM registrations WHERE kind = 'start'"
                ) == "start|Order|18.0|live"
            )
            let query =
                "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator"
                + "&usersig=\(try gateway.userSig("administrator"))"
            let body = #"""
                {"To_Account":"alice","MsgRandom":1,"MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"x"}}],
                 "OfflinePushInfo":{"ApnsInfo":{"LiveActivity":{"LaId":"order-1","Event":"start",
                 "AttributesType":"Order","Attributes":{},"ContentState":{"step":1},"InputPushToken":1,
                 "Alert":{"title":"Your order","body":"is on its way"}}}}}
                """#
            let answer = try HTTPExchange("POST", port: gateway.port, "/v4/openim/sendmsg?\(query)", body: body)
                .answer()
            #expect(try answer.json["ErrorCode"]?.integer == 0, "\(answer.text)")
            let push = try gateway.peer.exactly(1)[0]
            #expect(push.token == Self.token(0xA) && push.event == "start")
            // Its iOS is known from the file.
            #expect(push.aps?["input-push-token"]?.integer == 1)

            try gateway.phone(
                "alice",
                "PUT",
                "/v1/start-tokens/Order",
                #"{"token":"\#(Self.token(0xB))","businessId":1,"installation":"phone-1"}"#,
            )
            #expect(
                try Self.run(gateway, file, "--again").output
                    == "Done: \(Self.summary(unchanged: 1, kept: 1, refused: 1))\n"
            )
            #expect(try gateway.sql(Self.starts) == "alice|phone-1|Order|b")
            try gateway.phone("alice", "DELETE", "/v1/start-tokens/Order?installation=phone-1&sequence=7")
            #expect(
                try Self.run(gateway, file, "--again").output
                    == "Done: \(Self.summary(unchanged: 1, kept: 1, refused: 1))\n"
            )
            #expect(try gateway.sql(Self.starts) == "")
            #expect(
                try Self.run(gateway, file, "--again", "--replace").output
                    == "Done: \(Self.summary(imported: 1, unchanged: 1, refused: 1))\n"
            )
            #expect(try gateway.sql(Self.starts) == "alice|phone-1|Order|a")
        }

        @Test(
            "Of push-to-start tokens too the later line wins, and an installation belongs to one account in all kinds"
        )
        func laterStartTokenWins() throws {
            try Self.run { gateway in
                let early = [
                    Self.start("a", "p1", "x", 1), Self.start("a", "p1", "y", 1), Self.start("b", "p2", "x", 2),
                    Self.start("c", "p3", "x", 3), Self.start("d", "p4", "x", 4),
                    "device,e,p5,\(Self.token(0xE5)),1,,,", Self.start("f", "p6", "x", 6),
                ]
                let late = [
                    // A new token, another account, a token at another installation, and other kinds of another account.
                    Self.start("a", "p1", "x", 0x11), Self.start("g", "p2", "x", 0x12), Self.start("h", "p13", "x", 3),
                    "device,i,p4,\(Self.token(0xE4)),1,,,", Self.start("j", "p5", "x", 5),
                    "activity,k,p6,\(Self.token(0xE6, bytes: 80)),1,la,,",
                ]
                let between = (100..<2300).map { Self.start("user-\($0)", "phone-\($0)", "x", $0) }
                for (name, lines) in [("near.csv", early + late), ("far.csv", early + between + late)] {
                    try gateway.sql("DELETE FROM device; DELETE FROM live_activity; DELETE FROM start_token")
                    let file = try Self.writeStarts(lines, to: name, of: gateway)
                    #expect(try Self.run(gateway, file).output == "Done: \(Self.summary(imported: lines.count))\n")
                    try gateway.sql("DELETE FROM start_token WHERE installation LIKE 'phone-%'")
                    #expect(
                        try gateway.sql(Self.starts)
                            == "a|p1|x|11\na|p1|y|1\nh|p13|x|3\ng|p2|x|12\nj|p5|x|5",
                        "\(name)"
                    )
                    #expect(try gateway.sql(Self.devices) == "i|p4|e4", "\(name)")
                    #expect(try gateway.sql(Self.activities) == "k|p6|la|e6", "\(name)")
                }
            }
        }

        @Test("An import of push-to-start tokens that breaks off goes on where it stopped")
        func interruptedStartTokens() throws {
            try Self.run { gateway in
                let lines = (0..<2500).map { Self.start("user-\($0)", "phone-\($0)", "x", $0 + 1) }
                let file = try Self.writeStarts(lines, to: "phones.csv", of: gateway)
                try gateway.failStatements(on: "start_token", when: "NEW.installation = 'phone-1700'")
                #expect(try Self.run(gateway, file).status == 1)
                #expect(try gateway.sql("SELECT count(*) FROM start_token") == "1000")
                try gateway.sql("DROP TRIGGER fail ON start_token")
                #expect(
                    try Self.run(gateway, file).output
                        == "Going on with line 1002\nDone: \(Self.summary(imported: 2500))\n"
                )
                #expect(try gateway.sql("SELECT count(*), count(DISTINCT token) FROM start_token") == "2500|2500")
                #expect(try Self.run(gateway, file, "--again").output == "Done: \(Self.summary(unchanged: 2500))\n")
            }
        }

        @Test("A corrected file replaces what an earlier one imported")
        func correctedFile() throws {
            try Self.run { gateway in
                let first = try Self.write(
                    [Self.device("a", "p1", 1), Self.device("b", "p2", 2)],
                    to: "1.csv",
                    of: gateway
                )
                _ = try Self.run(gateway, first)
                let second = try Self.write(
                    [Self.device("a", "p1", 3), Self.device("b", "p2", 2)],
                    to: "2.csv",
                    of: gateway
                )
                #expect(try Self.run(gateway, second).output == "Done: \(Self.summary(imported: 1, unchanged: 1))\n")
                #expect(try gateway.sql(Self.devices) == "a|p1|3\nb|p2|2")
            }
        }

        @Test("Standard input is read too; without --report it is refused")
        func standardInput() throws {
            try Self.run { gateway in
                let file = try Self.write([Self.device("a", "p1", 1), "device,,,,,,,"], to: "1.csv", of: gateway)
                let outcome = try ChildProcess.run(
                    "env",
                    gateway.environment.map { "\($0.key)=\($0.value)" } + [
                        Paths.livepush, "registrations", "import", "-", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)",
                        "--report", "\(gateway.folder)/report.csv",
                    ],
                    input: try ChildProcess.run("cat", [file]).output
                )
                #expect(outcome.status == 1)
                #expect(outcome.output == "Done: \(Self.summary(imported: 1, refused: 1))\n")
                let report = try ChildProcess.run("cat", ["\(gateway.folder)/report.csv"]).output
                #expect(report == "line,field,reason\r\n3,account,\"account is missing\"\r\n")
                #expect(try gateway.sql("SELECT count(*) FROM registration_import") == "0")
            }
        }

        @Test("A file with an unknown column, for an unknown app or that is not there is refused as a whole")
        func refusedFiles() throws {
            try Self.run { gateway in
                let file = try Self.write([Self.device("a", "p1", 1)], to: "1.csv", of: gateway)
                let misspelt = "\(gateway.folder)/2.csv"
                _ = try ChildProcess.run("sh", ["-c", "sed s/language/langauge/ \"$0\" > \"$1\"", file, misspelt])
                let cases = [
                    ([misspelt, "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"], "'langauge'"),
                    ([file, "--sdk-app-id", "1"], "no app 1"),
                    (["/nowhere.csv", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"], "cannot read /nowhere.csv"),
                    ([gateway.folder, "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"], "cannot read"),
                ]
                for (words, error) in cases {
                    let outcome = try gateway.livepush(["registrations", "import"] + words)
                    #expect(outcome.status == 1)
                    #expect(outcome.errors.contains(error), "\(outcome.errors)")
                }
                #expect(try gateway.sql("SELECT count(*) FROM device") == "0")
            }
        }

        @Test("A report is never written over the file itself, and a pipe or device in its place is not removed")
        func reportInTheWay() throws {
            try Self.run { gateway in
                let file = try Self.write([Self.device("a", "p1", 1), "device,,,,,,,"], to: "1.csv", of: gateway)
                let before = try ChildProcess.run("cat", [file]).output
                for path in [file, "\(gateway.folder)/link.csv"] {
                    _ = try ChildProcess.run("ln", ["-s", file, "\(gateway.folder)/link.csv"])
                    let outcome = try Self.run(gateway, file, "--report", path)
                    #expect(outcome.status == 1)
                    #expect(outcome.errors.contains("written over \(file)"), "\(outcome.errors)")
                    #expect(try ChildProcess.run("cat", [file]).output == before)
                }
                #expect(try gateway.sql("SELECT count(*) FROM device") == "0")
                // Root could remove /dev/null like this.
                let pipe = "\(gateway.folder)/pipe"
                _ = try ChildProcess.run("mkfifo", [pipe])
                let sound = try Self.write([Self.device("a", "p1", 1)], to: "2.csv", of: gateway)
                #expect(try Self.run(gateway, sound, "--report", pipe).status == 0)
                #expect(try ChildProcess.run("test", ["-p", pipe]).status == 0)
            }
        }

        @Test("Two imports into one app at once: the second says so")
        func oneImportAtATime() throws {
            try Self.run { gateway in
                let first = try RunningProgram(
                    Paths.livepush,
                    [
                        "registrations", "import", "-", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", "--report",
                        "\(gateway.folder)/report.csv",
                    ],
                    environment: gateway.environment
                )
                try gateway.expectSQL(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """,
                    "1"
                )
                let file = try Self.write([Self.device("a", "p1", 1)], to: "1.csv", of: gateway)
                let second = try Self.run(gateway, file)
                #expect(second.status == 1)
                #expect(second.errors.contains("another import into app \(GatewayUnderTest.sdkAppID) is under way"))
                first.end(SIGTERM)
            }
        }
    }
}
