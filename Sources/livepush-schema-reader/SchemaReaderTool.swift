import ContentSchema
import Glibc
import SwiftSyntax

/// `livepush-schema-reader`: reads the Swift source of an `ActivityAttributes` type and writes its schema as JSON.
///
/// A program of its own, because it needs the toolchain's SwiftParser, which `livepush serve` should do without.
@main
struct SchemaReaderTool {
    private static let help = """
        livepush-schema-reader FILE.swift ... [--type NAME] [--define FLAG] [--undefine FLAG] [--any NAME]

        Reads the Swift source of an ActivityAttributes type and writes its schema as JSON to standard output. What cannot
        be read is named on standard error as FILE:LINE:COLUMN, and the exit code is 1.

          --type NAME       which type, if the files have several that conform to ActivityAttributes
          --define FLAG     a flag that the app is compiled with (swiftc -D); repeatable
          --undefine FLAG   a flag that it is compiled without; repeatable. DEBUG is, unless it is defined
          --any NAME        a type that is not read: whatever stands for it counts as decodable; repeatable

        """

    static func main() {
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ words: [String]) -> Int32 {
        var paths: [String] = []
        var wanted: String?
        var flags: Set<String> = []
        var absentFlags: Set<String> = ["DEBUG"]
        var unread: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h":
                Output.write(Self.help, to: STDOUT_FILENO)
                return 0
            case "--type", "--define", "--undefine", "--any":
                guard let value = rest.popFirst() else { return self.usage("\(word) needs a value") }
                switch word {
                case "--type": wanted = value
                case "--define": flags.insert(value)
                case "--any": unread.append(value)
                default: absentFlags.insert(value)
                }
            case let option where option.hasPrefix("--"):
                return self.usage("unknown option \(option)")
            default:
                paths.append(word)
            }
        }
        guard !paths.isEmpty else { return self.usage("a file is needed") }
        var files: [SourceFile] = []
        for path in paths {
            guard let source = Output.read(path) else {
                return self.fail("\(path): \(String(cString: strerror(errno)))")
            }
            files.append(SourceFile(name: path, source: source))
        }
        let conditions = CompilationConditions(flags: flags, absentFlags: absentFlags.subtracting(flags))
        return self.read(files, wanted: wanted, conditions, unread: unread)
    }

    private static func read(
        _ files: [SourceFile],
        wanted: String?,
        _ conditions: CompilationConditions,
        unread: [String],
    ) -> Int32 {
        let faults = files.compactMap { $0.syntaxError() }
        guard faults.isEmpty else { return self.fail(faults.map(\.description).joined(separator: "\n")) }
        let problems = SourceProblems()
        let table = DeclarationTable(files: files, conditions: conditions)
        let candidates = table.all.filter { type in
            if case .structure = type.kind {
                !table.conformances(of: type).isDisjoint(with: SchemaBuilder.attributesProtocols)
            } else {
                false
            }
        }
        let names = candidates.map(\.qualifiedName).joined(separator: ", ")
        let chosen: TypeDeclaration
        if let wanted {
            guard let match = candidates.first(where: { $0.qualifiedName == wanted || $0.name == wanted }) else {
                return self.fail(
                    "no struct \(wanted) that conforms to ActivityAttributes; there is \(names.isEmpty ? "none" : names)"
                )
            }
            chosen = match
        } else if candidates.count == 1 {
            chosen = candidates[0]
        } else {
            let undecided = table.undecided.map { ", #if \($0.condition.trimmedDescription) was not decided" }
            return self.fail(
                candidates.isEmpty
                    ? "no struct that conforms to ActivityAttributes\(undecided.joined())"
                    : "several structs conform to ActivityAttributes; choose with --type: \(names)"
            )
        }
        do {
            let builder = SchemaBuilder(table: table, problems: problems, unread: unread)
            let schema = try builder.schema(of: chosen)
            if let name = builder.unmetNames.first {
                return self.fail("--any \(name): \(chosen.name) uses no such type")
            }
            for problem in problems.all { Output.write("\(problem)\n", to: STDERR_FILENO) }
            guard let schema, !problems.hasErrors else { return 1 }
            Output.write(String(decoding: schema.json, as: UTF8.self) + "\n", to: STDOUT_FILENO)
            return 0
        } catch {
            return self.fail("\(error)")
        }
    }

    private static func usage(_ text: String) -> Int32 {
        Output.write("livepush-schema-reader: \(text)\n\n\(Self.help)", to: STDERR_FILENO)
        return 64
    }

    private static func fail(_ text: String) -> Int32 {
        Output.write(text + "\n", to: STDERR_FILENO)
        return 1
    }
}

/// Files and standard streams.
private enum Output {
    static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }

    /// nil, with errno set, if the file cannot be read.
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { return nil }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(contentsOf: chunk.prefix(count))
        }
    }
}
