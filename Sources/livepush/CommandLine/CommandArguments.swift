import Gateway
import Glibc

/// The words of a command line, checked against the options that the command knows.
struct CommandArguments {
    private let values: [String: [String]]
    private let flags: Set<String>
    private let environment: [String: String]
    private let options: [String: CommandOption]
    private let operands: [String]

    /// - Parameter maximumOperands: how many words may stand that belong to no option.
    /// - Throws: ``UsageError`` for an unknown option, a missing value or a word too many.
    init(
        _ words: [String],
        options: [CommandOption],
        maximumOperands: Int = 0,
        environment: [String: String],
    ) throws(UsageError) {
        var known: [String: CommandOption] = [:]
        for option in options {
            known[option.name] = option
        }
        var values: [String: [String]] = [:]
        var flags: Set<String> = []
        var operands: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                guard operands.count < maximumOperands else { throw UsageError("unexpected argument '\(word)'") }
                operands.append(word)
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = known[name] else { throw UsageError("unknown option '--\(name)'") }
            if case .flag = option.kind {
                guard parts.count == 1 else { throw UsageError("--\(name) takes no value") }
                flags.insert(name)
                continue
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                throw UsageError("--\(name) needs a value")
            }
            if case .value = option.kind, values[name] != nil {
                throw UsageError("--\(name) is given twice")
            }
            values[name, default: []].append(value)
        }
        self.values = values
        self.flags = flags
        self.environment = environment
        self.options = known
        self.operands = operands
    }

    /// The first word that belongs to no option, if there is one.
    var operand: String? { operands.first }

    /// The first word that belongs to no option.
    func requiredOperand(_ name: String) throws(UsageError) -> String {
        guard let operand else { throw UsageError("\(name) is needed") }
        return operand
    }

    func isSet(_ name: String) -> Bool {
        flags.contains(name)
    }

    /// The value from the command line, else from the environment.
    func text(_ name: String) -> String? {
        if let value = values[name]?.last { return value }
        guard let variable = options[name]?.environmentName, let value = environment[variable], !value.isEmpty else {
            return nil
        }
        return value
    }

    func texts(_ name: String) -> [String] {
        values[name] ?? []
    }

    func required(_ name: String) throws(UsageError) -> String {
        if let value = text(name) { return value }
        let variable = options[name]?.environmentName ?? ""
        throw UsageError("--\(name) (or \(variable)) is needed")
    }

    func integer(_ name: String, in range: ClosedRange<Int64> = 0...Int64.max) throws(UsageError) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let value = Int64(text), range.contains(value) else {
            throw UsageError("--\(name): expected a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    func requiredInteger(_ name: String) throws(UsageError) -> Int64 {
        let text = try required(name)
        guard let value = Int64(text), value > 0 else {
            throw UsageError("--\(name): expected a whole number above 0, not '\(text)'")
        }
        return value
    }

    /// Seconds with a fraction.
    func duration(_ name: String) throws(UsageError) -> Duration? {
        guard let text = text(name) else { return nil }
        return try CommandArguments.seconds(text, name)
    }

    /// A list of seconds, separated by commas.
    func durations(_ name: String) throws(UsageError) -> [Duration]? {
        guard let text = text(name) else { return nil }
        var durations: [Duration] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            durations.append(try CommandArguments.seconds(String(part), name))
        }
        return durations
    }

    func oneOf(_ name: String, _ words: [String]) throws(UsageError) -> String? {
        guard let text = text(name) else { return nil }
        guard words.contains(text) else {
            throw UsageError("--\(name): expected \(words.joined(separator: " or ")), not '\(text)'")
        }
        return text
    }

    /// A key that stands in an environment variable, nil if there is none. Only from the environment: a command line
    /// can be read by every user of the machine.
    func masterKey(in variable: StaticString) throws(SecretSealError) -> MasterKey? {
        guard let text = environment["\(variable)"], !text.isEmpty else { return nil }
        return try MasterKey(base64: text, variable: variable)
    }

    /// The key in a variable that must be set.
    func requiredMasterKey(in variable: StaticString) throws -> MasterKey {
        guard let key = try masterKey(in: variable) else {
            throw UsageError("\(variable) is needed in the environment (make one with: openssl rand -base64 32)")
        }
        return key
    }

    /// Seals under LIVEPUSH_MASTER_KEY, and opens also what LIVEPUSH_PREVIOUS_MASTER_KEY sealed.
    func secretSeal() throws -> SecretSeal {
        SecretSeal(
            masterKey: try requiredMasterKey(in: "LIVEPUSH_MASTER_KEY"),
            previous: try masterKey(in: "LIVEPUSH_PREVIOUS_MASTER_KEY"),
        )
    }

    private static func seconds(_ text: String, _ name: String) throws(UsageError) -> Duration {
        guard let seconds = Double(text), seconds.isFinite, 0...86_400 ~= seconds else {
            throw UsageError("--\(name): expected seconds from 0 to 86400, not '\(text)'")
        }
        return .milliseconds(Int64(seconds * 1000))
    }
}

/// The command line cannot be understood: exit code 64.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The command could not do its work: exit code 1.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
