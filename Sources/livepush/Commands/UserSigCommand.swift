import Gateway
import Glibc
import PostgresClient

/// `livepush usersig`.
enum UserSigCommand: Command {
    static let name = "usersig"
    static let summary = "print a UserSig of an account"
    static let discussion = """
        A phone sends it as `Authorization: Bearer USERSIG`; a chat backend as the parameter usersig of an administrator.
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID,
        CommandOption(name: "identifier", kind: .value("ACCOUNT"), help: "the account it is for"),
        CommandOption(
            name: "expire",
            kind: .value("SECONDS"),
            help: "how long it is good; 15552000 (180 days) if absent"
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let identifier = try arguments.required("identifier")
        guard 1...128 ~= identifier.utf8.count else { throw UsageError("--identifier: expected 1 to 128 bytes") }
        let expire = try arguments.integer("expire", in: 1...3_153_600_000) ?? 15_552_000
        let application = try await StoredApplication.load(id, arguments)
        let signature = UserSig.make(
            identifier: identifier,
            sdkAppID: id,
            secretKey: application.secretKey,
            expire: expire,
            now: Int64(time(nil)),
        )
        StandardOutput.write(signature + "\n")
    }
}

/// What commands need of an app's row.
struct StoredApplication: Sendable {
    let secretKey: [UInt8]
    let administrators: [String]

    static func load(_ id: Int64, _ arguments: CommandArguments) async throws -> StoredApplication {
        let url = try arguments.required("database-url")
        let seal = try arguments.secretSeal()
        let row = try await DatabaseSession.run(url) { _, connection -> (sealed: [UInt8], administrators: [String])? in
            let result = try await connection.run(
                PostgresStatement(
                    "SELECT secret_key_sealed, administrators FROM app WHERE sdk_app_id = $1::bigint",
                    [.integer(id)],
                )
            )
            guard let row = result.rows.first else { return nil }
            return (try row.bytes(0), try row.texts(1).compactMap { $0 })
        }
        guard let row else { throw CommandFailure("there is no app \(id)") }
        let key = try seal.open(row.sealed, for: SecretOwner.application(id))
        return StoredApplication(secretKey: key, administrators: row.administrators)
    }

    /// An administrator and a UserSig of it, good for five minutes.
    func administratorSignature(sdkAppID: Int64) throws(CommandFailure) -> (administrator: String, userSig: String) {
        guard let administrator = administrators.first else {
            throw CommandFailure("app \(sdkAppID) has no administrator")
        }
        let signature = UserSig.make(
            identifier: administrator,
            sdkAppID: sdkAppID,
            secretKey: secretKey,
            expire: 300,
            now: Int64(time(nil)),
        )
        return (administrator, signature)
    }
}
