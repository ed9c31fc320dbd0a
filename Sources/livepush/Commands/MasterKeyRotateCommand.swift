import Gateway

/// `livepush master-key rotate`.
enum MasterKeyRotateCommand: Command {
    static let name = "master-key rotate"
    static let summary = "seal the secrets in the database under a new master key"
    static let discussion = """
        Takes the former key from LIVEPUSH_MASTER_KEY and the new one from LIVEPUSH_NEW_MASTER_KEY, both in the environment.
        All secrets are sealed anew or none. Safe to repeat: what is under the new key already is left alone.

        Without an interruption: restart every gateway with the new key in LIVEPUSH_MASTER_KEY and the former one in
        LIVEPUSH_PREVIOUS_MASTER_KEY; run this; restart them without LIVEPUSH_PREVIOUS_MASTER_KEY. Until the former key is
        gone everywhere, an `app add` or `certificate add` with it can seal under it again: then run this once more.
        """
    static let options = [CommandOption.databaseURL]

    static func run(_ arguments: CommandArguments) async throws {
        let url = try arguments.required("database-url")
        let former = try arguments.requiredMasterKey(in: "LIVEPUSH_MASTER_KEY")
        let new = try arguments.requiredMasterKey(in: "LIVEPUSH_NEW_MASTER_KEY")
        guard former != new else {
            throw UsageError("LIVEPUSH_NEW_MASTER_KEY is the same as LIVEPUSH_MASTER_KEY")
        }
        let seal = SecretSeal(masterKey: new, previous: former)
        let count = try await DatabaseSession.run(url) { _, connection in
            try await MasterKeyRotation.run(seal, in: connection)
        }
        StandardOutput.write(
            "Sealed under the new key: \(count.resealed). Found under it already: \(count.alreadyNew).\n"
        )
    }
}
