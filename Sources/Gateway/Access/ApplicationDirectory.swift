public import APNs
public import Logging
public import PostgresClient
import Synchronization

/// What is configured, as last read from PostgreSQL. One for the process, shared by its lanes.
public final class ApplicationDirectory: Sendable {
    /// Everything configured at one moment.
    struct Snapshot: Sendable {
        var applications: [Int64: Application] = [:]
        var certificates: [Int64: [Int64: Certificate]] = [:]
        /// Of Pushwoosh's API.
        var codes: [String: ApplicationCode] = [:]
        /// By the digest of the token.
        var apiTokens: [[UInt8]: APIToken] = [:]
        /// What is stored and cannot be used; nil: nothing.
        var unreadable: UnreadableSecrets?

        /// The app; nil if there is none with that id.
        ///
        /// - Throws: where it is stored and its secret key cannot be opened.
        func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application? {
            if let application = applications[sdkAppID] { return application }
            guard unreadable?.applications[sdkAppID] == nil else { throw GatewayUnavailable(.secretNotReadable) }
            return nil
        }

        /// Whether the app has a certificate with this businessId, be its key readable or not.
        func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool {
            certificates[sdkAppID]?[businessID] != nil
                || unreadable?.certificates[sdkAppID]?[businessID] != nil
        }
    }

    let seal: SecretSeal
    private let logger: Logger
    private let schemas: ContentSchemaDirectory
    private let state = Mutex(State())

    private struct State {
        var snapshot = Snapshot()
        /// Whether it was read at least once.
        var isRead = false
        /// What the rows said when they were last opened, so that nothing is opened again without need.
        var fingerprints: [String: Opened] = [:]
        var complaints: Set<String> = []
        /// Rows that could not be used at the last reading.
        var faults: [Alarm] = []
        var applicationSecrets = UnreadableSecrets.Count()
        var certificateKeys = UnreadableSecrets.Count()

        /// One alarm takes the place of those of each secret of a kind of which the key opens none.
        mutating func tellAtOnce(_ obstacle: String) {
            faults.removeAll { fault in
                (fault.businessID == nil ? applicationSecrets : certificateKeys).isLocked
            }
            faults.append(.wrongMasterKey(obstacle))
        }
    }

    private enum Opened: Sendable {
        case application(version: Int64, Application)
        case certificate(version: Int64, Certificate)
    }

    /// - Parameter seal: opens the secrets of the rows.
    public init(seal: SecretSeal, logger: Logger) {
        self.seal = seal
        self.logger = logger
        self.schemas = ContentSchemaDirectory(logger: logger)
    }

    var current: Snapshot { state.withLock { $0.snapshot } }

    /// The same, nil before it was read for the first time: what is missing then may well be configured.
    var known: Snapshot? { state.withLock { $0.isRead ? $0.snapshot : nil } }

    /// Rows that could not be used when they were last read.
    var faults: [Alarm] { state.withLock { $0.faults } }

    /// What is stored and cannot be used; nil: nothing.
    var unreadable: UnreadableSecrets? { state.withLock { $0.snapshot.unreadable } }

    /// Why no requests should be sent to this gateway, in words: its master key opens none of a whole kind of secrets.
    public var obstacle: String? { unreadable?.obstacle }

    /// A message with what is configured for its app now.
    func underWay(_ receipt: AcceptedMessage, _ order: PushOrder, deadline: UnixTime) -> MessageUnderWay {
        let configured = current
        return MessageUnderWay(
            receipt: receipt,
            order: order,
            deadline: deadline,
            // An app that was removed has no registrations and no certificates left: nothing can be sent.
            application: configured.applications[order.sdkAppID]
                // To send it takes all that is configured but the secret key.
                ?? configured.unreadable?.applications[order.sdkAppID]
                ?? Application(sdkAppID: order.sdkAppID, secretKey: [], administrators: []),
            certificates: configured.certificates[order.sdkAppID] ?? [:],
            unreadable: configured.unreadable?.certificates[order.sdkAppID] ?? [:],
        )
    }

    /// Reads what is configured. A row that cannot be used is left out and logged once for each change.
    ///
    /// - Returns: keys that are not used any more, whose connections can be closed.
    @discardableResult
    public func reload(from pool: PostgresPool) async throws(PostgresError) -> [APNsSigningKey] {
        let results = try await pool.run([
            PostgresStatement(
                """
                SELECT sdk_app_id, updated_at, secret_key_sealed, administrators, require_imported_accounts,
                    live_activity_alert, live_activity_priority::bigint, fallback_collapse, placeholder_language,
                    requests_per_second, caller_requests_per_second, batch_recipients_per_minute,
                    client_requests_per_minute, usersig_failures_per_minute, extensions
                FROM app
                """
            ),
            PostgresStatement(
                """
                SELECT sdk_app_id, business_id, updated_at, bundle_id, team_id, key_id, private_key_sealed, environment
                FROM certificate
                """
            ),
            PostgresStatement("SELECT code, sdk_app_id, business_id FROM application_code"),
            PostgresStatement("SELECT digest, sdk_app_id, scope FROM api_token"),
        ])
        try await schemas.reload(from: pool)
        let before = state.withLock { $0 }
        var after = State()
        after.isRead = true
        after.complaints = before.complaints
        var locked: [Int64: Application] = [:]
        var unreadable: [Int64: [Int64: UnreadableSecrets.Certificate]] = [:]
        for row in results[0].rows {
            let id = try row.integer(0)
            let owner = SecretOwner.application(id)
            let version = try row.timestampMicroseconds(1)
            if case .application(version, let known)? = before.fingerprints[owner] {
                after.fingerprints[owner] = .application(version: version, known)
                after.snapshot.applications[id] = known
                after.applicationSecrets.add(isOpen: true)
                continue
            }
            let secret = open(try row.bytes(2), owner, version, (id, nil), &after)
            after.applicationSecrets.add(isOpen: secret != nil)
            let application = Application(
                sdkAppID: id,
                secretKey: secret ?? [],
                administrators: Set(try row.texts(3).compactMap { $0 }),
                requiresImportedAccounts: try row.boolean(4),
                copiesAlertToLiveActivity: try row.boolean(5),
                liveActivityPriority: try row.integerOrNil(6).flatMap { Int(exactly: $0) },
                fallbackCollapse: Application.FallbackCollapse(rawValue: try row.text(7)) ?? .message,
                placeholderLanguage: Application.PlaceholderLanguage(rawValue: try row.text(8)) ?? .international,
                allowsExtensions: try row.boolean(14),
                rateLimiter: .keeping(
                    before.snapshot.applications[id]?.rateLimiter,
                    for: RateLimits(
                        requestsPerSecond: try row.integerOrNil(9),
                        callerRequestsPerSecond: try row.integerOrNil(10),
                        batchRecipientsPerMinute: try row.integerOrNil(11),
                        clientRequestsPerMinute: try row.integerOrNil(12),
                        userSigFailuresPerMinute: try row.integerOrNil(13),
                    ),
                ),
            )
            guard secret != nil else {
                locked[id] = application
                continue
            }
            after.fingerprints[owner] = .application(version: version, application)
            after.snapshot.applications[id] = application
        }
        for row in results[1].rows {
            let id = try row.integer(0)
            let businessID = try row.integer(1)
            let owner = SecretOwner.certificate(id, businessID)
            let version = try row.timestampMicroseconds(2)
            if case .certificate(version, let known)? = before.fingerprints[owner] {
                after.fingerprints[owner] = .certificate(version: version, known)
                after.snapshot.certificates[id, default: [:]][businessID] = known
                after.certificateKeys.add(isOpen: true)
                continue
            }
            let bundleID = try row.text(3)
            let scope = Certificate.Scope(rawValue: try row.text(7))
            let text = open(try row.bytes(6), owner, version, (id, businessID), &after)
            after.certificateKeys.add(isOpen: text != nil)
            guard let text, let scope else {
                unreadable[id, default: [:]][businessID] = .init(bundleID: bundleID, scope: scope)
                if text != nil {
                    complain("certificate not usable", owner, version, (id, businessID), "environment", &after)
                }
                continue
            }
            let key: APNsSigningKey
            do {
                key = try APNsSigningKey(privateKey: text, teamID: try row.text(4), keyID: try row.text(5))
            } catch {
                unreadable[id, default: [:]][businessID] = .init(bundleID: bundleID, scope: scope)
                complain("certificate not usable", owner, version, (id, businessID), "\(error)", &after)
                continue
            }
            let certificate = Certificate(businessID: businessID, bundleID: bundleID, key: key, scope: scope)
            after.fingerprints[owner] = .certificate(version: version, certificate)
            after.snapshot.certificates[id, default: [:]][businessID] = certificate
        }
        for row in results[2].rows {
            let code = ApplicationCode(
                code: try row.text(0),
                sdkAppID: try row.integer(1),
                businessID: try row.integer(2),
            )
            after.snapshot.codes[code.code] = code
            after.snapshot.applications[code.sdkAppID]?.hasApplicationCode = true
            locked[code.sdkAppID]?.hasApplicationCode = true
        }
        for row in results[3].rows {
            guard let scope = APIToken.Scope(rawValue: try row.text(2)) else { continue }
            after.snapshot.apiTokens[try row.bytes(0)] = APIToken(sdkAppID: try row.integer(1), scope: scope)
        }
        for id in after.snapshot.applications.keys {
            after.snapshot.applications[id]?.contentSchemas = schemas.schemas(of: id)
        }
        for id in locked.keys {
            locked[id]?.contentSchemas = schemas.schemas(of: id)
        }
        after.snapshot.unreadable = UnreadableSecrets(
            applications: locked,
            certificates: unreadable,
            usable: Set(after.snapshot.certificates.keys),
            counts: (after.applicationSecrets, after.certificateKeys),
        )
        if let obstacle = after.snapshot.unreadable?.obstacle {
            after.tellAtOnce(obstacle)
        }
        state.withLock { [after] in $0 = after }
        let used = Set(after.snapshot.certificates.values.flatMap { $0.values.map(\.key) })
        let formerly = Set(before.snapshot.certificates.values.flatMap { $0.values.map(\.key) })
        return Array(formerly.subtracting(used))
    }

    private typealias Row = (sdkAppID: Int64, businessID: Int64?)

    private func open(
        _ sealed: [UInt8],
        _ owner: String,
        _ version: Int64,
        _ row: Row,
        _ state: inout State,
    ) -> [UInt8]? {
        do {
            return try seal.open(sealed, for: owner)
        } catch {
            complain("secret not readable", owner, version, row, error.description, &state)
            return nil
        }
    }

    private func complain(
        _ message: StaticString,
        _ owner: String,
        _ version: Int64,
        _ row: Row,
        _ error: String,
        _ state: inout State,
    ) {
        state.faults.append(.notReadable(sdkAppID: row.sdkAppID, businessID: row.businessID, because: error))
        guard state.complaints.insert("\(owner)/\(version)").inserted else { return }
        logger.error(message, ["owner": .string(owner), "error": .string(error)])
    }
}

/// Names of what a sealed secret belongs to; part of the seal.
public enum SecretOwner {
    /// The secret key of an app.
    public static func application(_ sdkAppID: some LosslessStringConvertible) -> String { "app/\(sdkAppID)" }

    /// The private key of a certificate.
    public static func certificate(
        _ sdkAppID: some LosslessStringConvertible,
        _ businessID: some LosslessStringConvertible,
    ) -> String {
        "certificate/\(sdkAppID)/\(businessID)"
    }

    /// A provider token that gateways share.
    static func providerToken(team: String, key: String, environment: String, fingerprint: String) -> String {
        "provider_token/\(team)/\(key)/\(environment)/\(fingerprint)"
    }
}
