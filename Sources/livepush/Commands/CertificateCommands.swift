import APNs
import Gateway
import LiveActivity
import PostgresClient

private let businessID = CommandOption(
    name: "business-id",
    kind: .value("N"),
    help: "the number that phones register with",
)

/// `livepush certificate add`.
enum CertificateAddCommand: Command {
    static let name = "certificate add"
    static let summary = "add an APNs signing key for a bundle id, or replace it"
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, businessID,
        CommandOption(name: "bundle-id", kind: .value("B"), help: "bundle id of the iOS app"),
        CommandOption(name: "team-id", kind: .value("T"), help: "Apple developer team, 10 characters"),
        CommandOption(name: "key-id", kind: .value("K"), help: "id of the key, 10 characters"),
        CommandOption(
            name: "key-file",
            kind: .value("FILE"),
            help: "AuthKey_<KEYID>.p8 as downloaded; - reads standard input",
        ),
        CommandOption(
            name: "environment",
            kind: .value("sandbox|production|both"),
            help: "sandbox for builds from Xcode, production for TestFlight and the App Store",
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let business = try arguments.requiredInteger("business-id")
        let bundleID = try arguments.required("bundle-id")
        guard PushTopic.isBundleID(bundleID) else {
            throw UsageError("--bundle-id: expected letters, digits, '-' and '.', such as com.example.app")
        }
        if let bare = PushTopic.bundleID(ofTopic: bundleID) {
            throw UsageError(
                "--bundle-id: '\(bundleID)' is the topic of a push type, whose ending livepush adds itself; give the bare "
                    + "bundle id: \(bare)"
            )
        }
        guard let environment = try arguments.oneOf("environment", ["sandbox", "production", "both"]) else {
            throw UsageError("--environment is needed: sandbox, production or both")
        }
        let teamID = try arguments.required("team-id")
        let keyID = try arguments.required("key-id")
        let file = try arguments.required("key-file")
        let url = try arguments.required("database-url")
        let seal = try arguments.secretSeal()
        let key = try APNsSigningKey(
            privateKey: try InputFile.read(file, option: "key-file"),
            teamID: teamID,
            keyID: keyID,
        )
        let sealed = try seal.seal(key.canonicalPEM, for: SecretOwner.certificate(id, business))
        do {
            try await DatabaseSession.run(url) { _, connection in
                _ = try await connection.run(
                    PostgresStatement(
                        """
                        INSERT INTO certificate
                            (sdk_app_id, business_id, bundle_id, team_id, key_id, private_key_sealed, environment)
                        VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::bytea, $7::text)
                        ON CONFLICT (sdk_app_id, business_id) DO UPDATE SET bundle_id = excluded.bundle_id,
                            team_id = excluded.team_id, key_id = excluded.key_id,
                            private_key_sealed = excluded.private_key_sealed, environment = excluded.environment,
                            updated_at = clock_timestamp()
                        """,
                        [
                            .integer(id), .integer(business), .text(bundleID), .text(teamID), .text(keyID),
                            .bytes(sealed), .text(environment),
                        ],
                    )
                )
            }
        } catch let error as CommandFailure where error.description.contains("23503") {
            throw CommandFailure("there is no app \(id); add it first: livepush app add --sdk-app-id \(id) ...")
        }
        StandardOutput.write(
            "Certificate \(business) of app \(id) is set up. Running gateways follow within 5 seconds.\n"
        )
    }
}

/// `livepush certificate list`.
enum CertificateListCommand: Command {
    static let name = "certificate list"
    static let summary = "list the certificates of an app"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT format('%s  %s  team %s  key %s  %s', business_id, bundle_id, team_id, key_id, environment)
                    FROM certificate WHERE sdk_app_id = $1::bigint ORDER BY business_id
                    """,
                    [.integer(id)],
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        for line in lines {
            StandardOutput.write(line + "\n")
        }
    }
}

/// `livepush certificate remove`.
enum CertificateRemoveCommand: Command {
    static let name = "certificate remove"
    static let summary = "remove a certificate; registrations that name it wait until it is back"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID, businessID]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let business = try arguments.requiredInteger("business-id")
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(
                PostgresStatement(
                    "DELETE FROM certificate WHERE sdk_app_id = $1::bigint AND business_id = $2::bigint",
                    [.integer(id), .integer(business)],
                )
            ).affectedRows
        }
        guard count == 1 else { throw CommandFailure("app \(id) has no certificate \(business)") }
        StandardOutput.write("Certificate \(business) of app \(id) is removed.\n")
    }
}

/// `livepush certificate token`.
enum CertificateTokenCommand: Command {
    static let name = "certificate token"
    static let summary = "print a provider token, to talk to APNs with curl"
    static let discussion = """
        It is the token that running gateways send with, if it is younger than 50 minutes; else a new one, which they take
        over. APNs takes it for an hour after it was made, and a new one at most every 20 minutes.

          curl --http2 -H "authorization: bearer TOKEN" -H "apns-topic: BUNDLE.push-type.liveactivity" \\
            -H "apns-push-type: liveactivity" -d @payload.json https://api.sandbox.push.apple.com/3/device/PUSHTOKEN
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, businessID,
        CommandOption(
            name: "environment",
            kind: .value("sandbox|production"),
            help: "which APNs; the certificate's if absent, production for one that is for both",
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let business = try arguments.requiredInteger("business-id")
        let wanted = try arguments.oneOf("environment", ["sandbox", "production"])
        let url = try arguments.required("database-url")
        let seal = try arguments.secretSeal()
        let token = try await DatabaseSession.run(url) { _, connection -> String in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT team_id, key_id, private_key_sealed, environment FROM certificate
                    WHERE sdk_app_id = $1::bigint AND business_id = $2::bigint
                    """,
                    [.integer(id), .integer(business)],
                )
            )
            guard let row = result.rows.first else { throw CommandFailure("app \(id) has no certificate \(business)") }
            let text = try seal.open(try row.bytes(2), for: SecretOwner.certificate(id, business))
            let key = try APNsSigningKey(privateKey: text, teamID: try row.text(0), keyID: try row.text(1))
            let scope = try row.text(3)
            guard wanted == nil || scope == "both" || scope == wanted else {
                throw CommandFailure("certificate \(business) of app \(id) is for \(scope)")
            }
            let environment = APNsEnvironment(rawValue: wanted ?? scope) ?? .production
            let store = ProviderTokenStore(connection: connection, seal: seal, host: ProcessEnvironment.hostAndProcess)
            return try await store.token(ProviderTokenRequest(key: key, environment: environment)).get().text
        }
        StandardOutput.write(token + "\n")
    }
}
