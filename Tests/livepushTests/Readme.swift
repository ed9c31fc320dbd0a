import TestSupport

/// README.md, cut into its code blocks.
struct Readme {
    /// A fenced block.
    struct Block {
        /// All that stands behind the opening fence.
        let tag: String
        /// The line of the opening fence, from 1.
        let line: Int
        fileprivate(set) var lines: [String] = []

        var text: String { lines.map { $0 + "\n" }.joined() }
    }

    /// The tags that a test knows what to do with.
    ///
    /// - `sh ci`: part of what `.ci/run` runs. `sh test`: run in one shell, in order. `sh test serve`: run beside it.
    /// - `sql test`: must find rows. `sql test any`: must run.
    /// - `json request`: posted to sendmsg. `json answer`: its answer. `json log`: a line of the log.
    /// - `python test`, `swift test`: run. `swift parse`: parsed. `text`: the layout.
    static let tags: Set<String> = [
        "sh ci", "sh test", "sh test serve", "sql test", "sql test any", "json request", "json answer", "json log",
        "python test", "swift test", "swift parse", "text",
    ]

    let text: String
    let blocks: [Block]
    /// Whether each block ends.
    let isClosed: Bool

    /// - Parameter file: README.md, or another page in the same form.
    init(file: String = "README.md") throws {
        text = try Readme.file(file)
        var blocks: [Block] = []
        var isOpen = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                if !isOpen {
                    blocks.append(Block(tag: String(line.drop { $0 == " " || $0 == "`" }), line: index + 1))
                }
                isOpen.toggle()
            } else if isOpen {
                blocks[blocks.count - 1].lines.append(String(line))
            }
        }
        self.blocks = blocks
        isClosed = !isOpen
    }

    func blocks(_ tag: String) -> [Block] {
        blocks.filter { $0.tag == tag }
    }

    /// Every word of letters, digits, `-` and `_` that begins so.
    func words(beginningWith prefix: String) -> Set<String> {
        let words = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_")) }
        return Set(words.filter { $0.hasPrefix(prefix) && $0.count > prefix.count }.map(String.init))
    }

    // MARK: - The clone

    static func file(_ name: String) throws -> String {
        let outcome = try ChildProcess.run("cat", ["\(Paths.package)/\(name)"])
        guard outcome.status == 0 else { throw ChildProcess.Failure(outcome.errors) }
        return outcome.output
    }

    static func folders(of name: String) throws -> [String] {
        let outcome = try ChildProcess.run(
            "find",
            ["\(Paths.package)/\(name)", "-mindepth", "1", "-maxdepth", "1", "-type", "d"]
        )
        return outcome.output.split(separator: "\n").compactMap { $0.split(separator: "/").last.map(String.init) }
    }
}

extension String {
    /// What stands between the first `start` and the first `end` after it.
    func components(after start: String, before end: String) -> String? {
        guard let from = firstRange(of: start)?.upperBound, let to = self[from...].firstRange(of: end)?.lowerBound
        else {
            return nil
        }
        return String(self[from..<to])
    }
}
