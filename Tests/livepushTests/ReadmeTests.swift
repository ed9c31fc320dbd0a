import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Every code block of README.md is run: a block that nothing runs fails a test.
    @Suite
    struct ReadmeTests {
        private let readme: Readme

        init() throws {
            readme = try Readme()
        }

        @Test("Every code block has a tag that says how it is tested")
        func everyBlockIsTagged() {
            for block in readme.blocks {
                #expect(Readme.tags.contains(block.tag), "line \(block.line): ```\(block.tag)")
            }
            #expect(readme.isClosed)
            #expect(!readme.text.contains("~~~"))
            #expect(Set(readme.blocks.map(\.tag)) == Readme.tags)
        }

        @Test("What is left to CI is what CI runs")
        func continuousIntegrationRunsItsBlocks() throws {
            let scripts = try [".ci/run", "Deploy/test", "Deploy/demo"].map(Readme.file).joined()
            for line in readme.blocks("sh ci").flatMap(\.lines) {
                #expect(scripts.contains(line), "\(line)")
            }
        }

        @Test("Options, variables and outcomes are those that exist")
        func namesExist() throws {
            let help = try ReadmeSession.help()
            let demo = try Readme.file("Deploy/demo")
            for option in readme.words(beginningWith: "--") {
                #expect(
                    help.contains("\(option) ") || help.contains("\(option)\n") || demo.contains(option),
                    "\(option)"
                )
            }
            // Keys come only from the environment.
            for variable in readme.words(beginningWith: "LIVEPUSH_") where !variable.hasSuffix("_MASTER_KEY") {
                let option = variable.dropFirst("LIVEPUSH_".count).lowercased().map { $0 == "_" ? "-" : String($0) }
                    .joined()
                #expect(help.contains("--\(option) "), "\(variable)")
            }
            let tables = try Readme.file("Schema/0001_tables.sql")
            let outcomes = try #require(tables.components(after: "outcome IN (", before: ")"))
            for outcome in outcomes.split(separator: "'").filter({ $0.contains("_") || $0.allSatisfy(\.isLetter) }) {
                #expect(readme.text.contains("`\(outcome)`"), "\(outcome)")
            }
        }

        @Test("The layout names every folder of Sources, and nothing else")
        func layoutIsComplete() throws {
            let layout = readme.blocks("text").flatMap(\.lines)
            let named = Set(layout.compactMap { $0.components(after: "Sources/", before: " ") }.filter { $0 != "C..." })
            let folders = try Readme.folders(of: "Sources").filter { folder in
                // Module maps of C libraries: CLibpq.
                folder.first != "C" || folder.dropFirst().first?.isLowercase == true
            }
            #expect(named == Set(folders))
        }

        @Test("The whole session works as printed: commands, requests, answers, SQL, the Python and the Swift client")
        func sessionWorksAsPrinted() throws {
            let results = try ReadmeSession(readme).run()

            for answer in results.curlAnswers {
                let isGood =
                    answer["ActionStatus"]?.string == "OK" || answer["applied"]?.boolean == true
                    || answer["registrations"]?.elements.isEmpty == false || answer["status"]?.string == "ok"
                    || answer["messages"]?.elements.isEmpty == false
                    || answer["outcome"]?.string == "accepted_by_apns" || answer["deleted"]?.boolean == true
                #expect(isGood, "\(answer.verbatimText)")
            }
            #expect(results.curlAnswers.count == 12)

            let promised = readme.blocks("json answer")
            #expect(results.postAnswers.count == promised.count)
            for (block, answer) in zip(promised, results.postAnswers) {
                let expected = try JSONDocument(parsing: Array(block.text.utf8)).root
                #expect(expected.shape == answer.shape, "line \(block.line): \(answer.verbatimText)")
            }

            for block in readme.blocks("json log") {
                let expected = try JSONDocument(parsing: Array(block.text.utf8)).root
                let line = results.logLines.first { $0["message"]?.string == expected["message"]?.string }
                #expect(line?.members.map(\.key) == expected.members.map(\.key), "line \(block.line)")
            }

            let broadcasts = results.pushes.filter { $0["channel"] != nil }
            #expect(broadcasts.map { $0["payload"]?["aps"]?["event"]?.string } == ["update", "end"])
            let kinds = results.pushes.filter { $0["channel"] == nil }.map { push in
                push["payload"]?["aps"]?["event"]?.string ?? push["payload"]?["aps"]?["alert"]?["body"]?.string
            }
            let first = ["update", "end", "Order 9 is on its way", "Did this one arrive?"]
            #expect(Array(kinds.prefix(4)) == first)
            let clients = Paths.python == nil ? 1 : 2
            #expect(kinds.dropFirst(4) == Array(repeating: "The courier is on the way", count: clients)[...])
            #expect(results.pushes.allSatisfy { $0["status"]?.integer == 200 && $0["ignoredByPhone"] == nil })
        }

        @Test("The code for the iOS app, which cannot be built here, is Swift")
        func appCodeParses() throws {
            for block in readme.blocks("swift parse") {
                try ReadmeSession.parse(block.text)
            }
        }
    }
}

extension JSONValue {
    fileprivate var verbatimText: String { String(decoding: verbatim, as: UTF8.self) }

    /// Names and types, and the values that do not change from run to run.
    fileprivate var shape: String {
        switch kind {
        case .object:
            let fixed: Set = ["ActionStatus", "ErrorInfo", "ErrorCode", "Field", "Code", "Message"]
            return members.map { "\($0.key):\(fixed.contains($0.key) ? $0.value.verbatimText : $0.value.shape)" }
                .joined(separator: ",")
        case .array: return "[" + elements.map(\.shape).joined(separator: ";") + "]"
        default: return "\(kind)"
        }
    }
}
