/// A command of the executable.
protocol Command {
    /// The word on the command line; `app add` for one with two words.
    static var name: String { get }
    /// One line for the list of commands.
    static var summary: String { get }
    /// What people should know before they use it; may be empty.
    static var discussion: String { get }
    static var options: [CommandOption] { get }
    /// What the words are called that stand without an option, such as FILE; may be empty.
    static var operands: [String] { get }

    /// Does the work.
    static func run(_ arguments: CommandArguments) async throws
}

extension Command {
    static var discussion: String { "" }
    static var operands: [String] { [] }

    /// The text of `--help`.
    static var help: String {
        var text = "livepush \(([name] + operands).joined(separator: " ")): \(summary)\n"
        if !discussion.isEmpty {
            text += "\n\(discussion)\n"
        }
        guard !options.isEmpty else { return text }
        text += "\nOptions (one that takes one value also as an environment variable: --listen as LIVEPUSH_LISTEN):\n"
        for option in options {
            let head =
                switch option.kind {
                case .flag: "--\(option.name)"
                case .value(let value): "--\(option.name) \(value)"
                case .values(let value): "--\(option.name) \(value) ..."
                }
            text += "  \(head)\n      \(option.help)\n"
        }
        return text
    }
}
