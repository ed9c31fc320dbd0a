import TestSupport
import Testing

extension EndToEndTests {
    /// `livepush schema` as an app's developer uses it.
    @Suite
    struct SchemaCommandTests {
        private static let source = """
            import ActivityKit
            struct RideAttributes: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    var eta: Date?
                    var phase: Phase
                }
                enum Phase: String, Codable { case waiting, driving }
                let number: Int
            }
            """

        private let database: MigratedDatabase
        private let folder: String

        init() throws {
            database = try MigratedDatabase()
            folder = try ChildProcess.run("mktemp", ["-d", "-t", "livepush-schema.XXXXXX"]).output.trimmed
            try database.sql("INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (7, '', '{a}')")
        }

        private func write(_ text: String, _ name: String) throws -> String {
            _ = try ChildProcess.run("tee", ["\(folder)/\(name)"], input: text)
            return "\(folder)/\(name)"
        }

        private func schema(_ words: String...) throws -> ChildProcess.Outcome {
            try ChildProcess.run(Paths.livepush, ["schema"] + words + ["--database-url", database.url])
        }

        private func succeed(_ words: String...) throws -> String {
            let outcome = try ChildProcess.run(
                Paths.livepush,
                ["schema"] + words + ["--database-url", database.url],
            )
            try #require(outcome.status == 0, "\(outcome.errors)")
            return outcome.output
        }

        @Test("Source is imported version by version, and what a version breaks is told at import and by diff")
        func importing() throws {
            defer { _ = try? ChildProcess.run("rm", ["-r", folder]) }
            let file = try write(Self.source, "RideAttributes.swift")
            #expect(
                try succeed("import", file, "--sdk-app-id", "7")
                    == "RideAttributes is stored as version 1. Running gateways follow within 5 seconds.\n"
            )
            #expect(
                try succeed("import", file, "--sdk-app-id", "7")
                    == "RideAttributes is the same as version 1; nothing is stored.\n"
            )
            let newer = try write(
                Self.source.replacing("var eta: Date?", with: "var eta: Date\n var points: Int8?"),
                "RideAttributes.swift",
            )
            let told = """
                Some of what version 1 took, version 2 refuses:
                  breaks content-state.eta: was optional, is required and never null
                  widens content-state.points: is new and optional (Int8?)

                """
            #expect(
                try succeed("import", newer, "--sdk-app-id", "7", "--from-app-version", "2.10") == """
                    RideAttributes is stored as version 2, for app versions from 2.10 on. Running gateways follow within \
                    5 seconds.
                    \(told)
                    """
            )
            #expect(try succeed("diff", "--sdk-app-id", "7", "--type", "RideAttributes") == told)
            #expect(
                try database.sql(
                    "SELECT version, from_app_version, source_file, length(source_sha256) FROM content_schema ORDER BY 1",
                    as: .person,
                ) == "1||RideAttributes.swift|64\n2|2.10|RideAttributes.swift|64"
            )
            let list = try succeed("list").split(separator: "\n")
            #expect(list.count == 2)
            #expect(
                list[0].hasPrefix(
                    "7  RideAttributes  version 1  other app versions  read from RideAttributes.swift  added "
                )
            )
            #expect(list[1].contains("version 2  app versions from 2.10  "))

            // What is shown can be stored again, and tells that newer apps keep the newer version.
            let shown = try succeed("show", "--sdk-app-id", "7", "--type", "RideAttributes", "--version", "1")
            let again = try succeed("add", try write(shown, "schema.json"), "--sdk-app-id", "7")
            #expect(again.hasPrefix("RideAttributes is stored as version 3."))
            #expect(again.contains("ignores content-state.points: is gone (was Int8?)"))
            #expect(again.contains("App versions from 2.10 on are still checked by version 2"))
            #expect(try succeed("show", "--sdk-app-id", "7", "--type", "RideAttributes") == shown)

            _ = try succeed("remove", "--sdk-app-id", "7", "--type", "RideAttributes", "--version", "1")
            #expect(try schema("show", "--sdk-app-id", "7", "--type", "RideAttributes", "--version", "1").status == 1)
            #expect(
                try succeed("remove", "--sdk-app-id", "7", "--type", "RideAttributes", "--all").hasPrefix("Removed: 2.")
            )
            #expect(try succeed("list").isEmpty)
        }

        @Test("What cannot be read is named with its place, and nothing is stored")
        func refusals() throws {
            defer { _ = try? ChildProcess.run("rm", ["-r", folder]) }
            let file = try write(Self.source.replacing("Date?", with: "Moment?"), "Ride.swift")
            let outcome = try schema("import", file, "--sdk-app-id", "7")
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("Ride.swift:4:18: error: the type Moment is not declared"))
            let other = try write("struct Moment: Codable, Hashable {}", "Moment.swift")
            #expect(
                try schema("import", file, "--with", other, "--sdk-app-id", "8").errors.contains("there is no app 8")
            )
            #expect(
                try schema("import", file, "--with", other, "--sdk-app-id", "7", "--from-app-version", "x").status == 64
            )
            let json = try schema("add", try write(#"{"format": 1}"#, "s.json"), "--sdk-app-id", "7")
            #expect(json.errors.contains(#"s.json: "types" is missing"#), "\(json.errors)")
            #expect(try schema("remove", "--sdk-app-id", "7", "--type", "A").status == 64)
            #expect(try database.sql("SELECT count(*) FROM content_schema") == "0")
            #expect(try succeed("import", file, "--with", other, "--sdk-app-id", "7").contains("version 1"))
            #expect(outcome.errors.contains("--any Moment"))
            #expect(
                try succeed("import", file, "--any", "Moment", "--sdk-app-id", "7").contains("the same as version 1")
            )
            let missing = try schema("add", "/nowhere.json", "--sdk-app-id", "7")
            #expect(missing.errors.contains("cannot read /nowhere.json") && !missing.errors.contains("--"))
        }

        @Test("The policy is set per app")
        func policy() throws {
            defer { _ = try? ChildProcess.run("rm", ["-r", folder]) }
            let set = ["app", "set", "--sdk-app-id", "7", "--database-url", database.url]
            let read = "SELECT schema_policy, schema_converts_dates FROM app"
            #expect(try database.sql(read, as: .person) == "reject|f")
            let words = ["--content-state-policy", "warn", "--content-state-convert", "on"]
            #expect(try ChildProcess.run(Paths.livepush, set + words).status == 0)
            #expect(try database.sql(read, as: .gateway) == "warn|t")
            #expect(try ChildProcess.run(Paths.livepush, set + ["--name", "x"]).status == 0)
            #expect(try database.sql(read) == "warn|t")
            let wrong = try ChildProcess.run(Paths.livepush, set + ["--content-state-policy", "ignore"])
            #expect(wrong.status == 64)
            #expect(wrong.errors.contains("--content-state-policy"))
        }
    }
}
