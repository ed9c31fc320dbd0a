import Glibc

/// The command `livepush`.
@main
struct Livepush {
    static var commands: [any Command.Type] {
        [
            ServeCommand.self, MigrateCommand.self,
            DoctorCommand.self, RetentionCommand.self,
            AppAddCommand.self, AppSetCommand.self, AppListCommand.self, AppRemoveCommand.self,
            CertificateAddCommand.self, CertificateListCommand.self, CertificateRemoveCommand.self,
            CertificateTokenCommand.self,
            MasterKeyRotateCommand.self, RegistrationsImportCommand.self,
            SchemaImportCommand.self, SchemaAddCommand.self, SchemaListCommand.self, SchemaShowCommand.self,
            SchemaDiffCommand.self, SchemaRemoveCommand.self,
            ScheduledListCommand.self, ScheduledShowCommand.self, ScheduledCancelCommand.self,
            UserSigCommand.self, SendCommand.self, ExplainCommand.self, SimulatorCommand.self,
            PayloadStartCommand.self, PayloadUpdateCommand.self, PayloadEndCommand.self, PayloadDateCommand.self,
            ChannelCreateCommand.self, ChannelReadCommand.self, ChannelListCommand.self, ChannelDeleteCommand.self,
            ChannelSendCommand.self,
            SegmentListCommand.self, SegmentShowCommand.self, SegmentAddCommand.self, SegmentRemoveCommand.self,
            SegmentImportCommand.self,
            BenchCommand.self, BenchSinkCommand.self, BenchDriverCommand.self, BenchAPNsCommand.self,
        ]
    }

    static func main() async {
        // A peer that closes while something is written to it must not end the process.
        signal(SIGPIPE, SIG_IGN)
        let status = await run(Array(CommandLine.arguments.dropFirst()), environment: ProcessEnvironment.all)
        fflush(nil)
        // Not exit: its handlers take OpenSSL apart under threads of event loops that are still freeing connections, which
        // crashed about one in forty runs of `livepush doctor`.
        _exit(status)
    }

    /// Runs one command line.
    ///
    /// - Returns: 0, 1 for a failure, 64 for a command line that cannot be understood.
    static func run(_ words: [String], environment: [String: String]) async -> Int32 {
        guard let first = words.first else {
            StandardOutput.write(error: overview)
            return 64
        }
        if ["--help", "-h", "help"].contains(first) {
            StandardOutput.write(overview)
            return 0
        }
        let named = commands.filter { words.starts(with: $0.name.split(separator: " ").map(String.init)) }
        guard let command = named.max(by: { $0.name.count < $1.name.count }) else { return explain(words) }
        let rest = Array(words.dropFirst(command.name.split(separator: " ").count))
        if rest.contains("--help") || rest.contains("-h") {
            StandardOutput.write(command.help)
            return 0
        }
        do {
            let arguments = try CommandArguments(
                rest,
                options: command.options,
                maximumOperands: command.operands.count,
                environment: environment,
            )
            try await command.run(arguments)
            return 0
        } catch let error as UsageError {
            StandardOutput.write(error: "livepush \(command.name): \(error)\nSee: livepush \(command.name) --help\n")
            return 64
        } catch {
            StandardOutput.write(error: "livepush \(command.name): \(error)\n")
            return 1
        }
    }

    /// A command of two words of which only the first is there, or none that is known.
    private static func explain(_ words: [String]) -> Int32 {
        let family = commands.filter { $0.name.hasPrefix(words[0] + " ") }
        guard !family.isEmpty else {
            StandardOutput.write(error: "livepush: unknown command '\(words[0])'\n\n\(overview)")
            return 64
        }
        let list = listing(family)
        if words.dropFirst().contains(where: { ["--help", "-h"].contains($0) }) {
            StandardOutput.write(list)
            return 0
        }
        StandardOutput.write(error: "livepush \(words[0]): which one?\n\n\(list)")
        return 64
    }

    private static var overview: String {
        """
        livepush: Live Activity and notification pushes for chat messages, over APNs

        Usage: livepush COMMAND [options]      livepush COMMAND --help

        \(listing(commands))
        """
    }

    private static func listing(_ commands: [any Command.Type]) -> String {
        let width = commands.map { $0.name.count }.max() ?? 0
        return commands.map { command in
            let padding = String(repeating: " ", count: width - command.name.count + 2)
            return "  \(command.name)\(padding)\(command.summary)\n"
        }.joined()
    }
}
