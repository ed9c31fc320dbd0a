public import Logging
public import PostgresClient

/// The phones' registrations in PostgreSQL. Each call is one transaction and one round trip; what it decides is in the
/// functions of `Schema/0003_registration_functions.sql` and `Schema/0005_badges_and_presence.sql`, where the rows can
/// be locked meanwhile.
///
/// One object per lane, used on that lane's thread.
public final class RegistrationStore {
    private let pool: PostgresPool
    private let alarms: AlarmBoard?
    private let logger: Logger

    /// - Parameters:
    ///   - pool: the lane's connections.
    ///   - alarms: of the process; nil: a statement that PostgreSQL refuses is only logged.
    public init(pool: PostgresPool, alarms: AlarmBoard? = nil, logger: Logger) {
        self.pool = pool
        self.alarms = alarms
        self.logger = logger
    }

    // MARK: - Changes

    /// Registers a device token: replaces the installation's former one, and takes installation and token from
    /// whichever account or installation had them.
    public func putDevice(
        _ registration: DeviceRegistration,
        for owner: RegistrationOwner,
    ) async throws(GatewayUnavailable) -> RegistrationOutcome {
        let statement = PostgresStatement(
            "SELECT register_device($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            [
                .integer(owner.sdkAppID), .text(owner.account), .text(owner.installation),
                .bytes(registration.token.bytes), .integer(registration.businessID),
                .text(registration.environment?.rawValue), .text(registration.osVersion),
                .text(registration.appVersion), .text(registration.language),
                .text(registration.notificationPermission?.rawValue), .boolean(registration.frequentPushesEnabled),
                .integer(registration.sequence),
            ],
        )
        return try await run(statement) { row throws(PostgresError) in
            try row.boolean(0) ? .applied(expiresAt: nil) : .staleSequence
        }
    }

    /// Registers an activity token: a rotated one goes on with the activity's life, one after an accepted `end`, a
    /// clear or the activity's 8 hours begins a new life; the same one after an `end` does not; takes installation and token from whoever had them. A token that
    /// is registered for something else is refused: APNs would take updates for it, and no activity would get them.
    public func putActivity(
        _ registration: ActivityRegistration,
        for owner: RegistrationOwner,
    ) async throws(GatewayUnavailable) -> RegistrationOutcome {
        let statement = PostgresStatement(
            """
            SELECT applied, expires_at,
                -- As it was before: the function leaves it so.
                EXISTS (SELECT FROM live_activity WHERE sdk_app_id = $1 AND token = $5 AND ended_at IS NOT NULL)
            FROM register_activity($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            -- Depends on no row of the function's, so that it decides whether the function is called at all.
            WHERE NOT EXISTS (SELECT FROM device WHERE sdk_app_id = $1 AND token = $5)
                AND NOT EXISTS (SELECT FROM start_token WHERE sdk_app_id = $1 AND token = $5)
            """,
            [
                .integer(owner.sdkAppID), .text(owner.account), .text(registration.laID), .text(owner.installation),
                .bytes(registration.token.bytes), .integer(registration.businessID),
                .text(registration.environment?.rawValue), .text(registration.attributesType),
                .text(registration.appVersion),
                .timestamp(microsecondsSinceUnixEpoch: registration.startedAt?.microseconds),
                .boolean(registration.frequentPushesEnabled), .integer(registration.sequence),
            ],
        )
        let results = try await run([statement])
        return try reading { () throws(PostgresError) in
            guard let row = results.first?.rows.first else { return .tokenOfOtherKind }
            guard try row.boolean(0) else { return .staleSequence }
            guard try !row.boolean(2) else { return .activityEnded }
            return .applied(expiresAt: UnixTime(microseconds: try row.timestampMicroseconds(1)))
        }
    }

    /// Registers a push-to-start token: replaces the installation's former one for the attributes type, and takes
    /// installation and token from whoever had them.
    public func putStartToken(
        _ registration: StartTokenRegistration,
        for owner: RegistrationOwner,
    ) async throws(GatewayUnavailable) -> RegistrationOutcome {
        let statement = PostgresStatement(
            "SELECT register_start_token($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            [
                .integer(owner.sdkAppID), .text(owner.account), .text(registration.attributesType),
                .text(owner.installation), .bytes(registration.token.bytes), .integer(registration.businessID),
                .text(registration.environment?.rawValue), .text(registration.osVersion),
                .text(registration.appVersion), .integer(registration.sequence),
            ],
        )
        return try await run(statement) { row throws(PostgresError) in
            try row.boolean(0) ? .applied(expiresAt: nil) : .staleSequence
        }
    }

    /// Makes the installation the owner's before anything is registered for it, with the device token and start tokens that
    /// are registered for it already.
    public func moveInstallation(to owner: RegistrationOwner) async throws(GatewayUnavailable) {
        let statement = PostgresStatement(
            "SELECT move_installation($1, $2, $3)",
            [.integer(owner.sdkAppID), .text(owner.account), .text(owner.installation)],
        )
        _ = try await run([statement])
    }

    /// Forgets the installation's push-to-start token of one attributes type.
    public func clearStartToken(
        _ attributesType: String,
        of owner: RegistrationOwner,
        sequence: Int64?,
    ) async throws(GatewayUnavailable) -> ClearOutcome {
        let statement = PostgresStatement(
            "SELECT cleared, is_stale FROM clear_start_token($1, $2, $3, $4, $5)",
            [
                .integer(owner.sdkAppID), .text(owner.account), .text(owner.installation), .text(attributesType),
                .integer(sequence),
            ],
        )
        return try await run(statement) { row throws(PostgresError) in
            try row.boolean(1) ? .staleSequence : .cleared(try row.integer(0))
        }
    }

    /// Log-out: forgets the installation's device token, activities and start tokens, those with a lower sequence or
    /// none; all of them if the clear has none.
    public func deleteDevice(
        of owner: RegistrationOwner,
        sequence: Int64?,
    ) async throws(GatewayUnavailable) -> ClearOutcome {
        try await clear(owner, laID: nil, withDevice: true, sequence: sequence)
    }

    /// Forgets one activity of the installation.
    public func clearActivity(
        _ laID: String,
        of owner: RegistrationOwner,
        sequence: Int64?,
    ) async throws(GatewayUnavailable) -> ClearOutcome {
        try await clear(owner, laID: laID, withDevice: false, sequence: sequence)
    }

    /// Forgets the installation's activities, those with a lower sequence or none; all of them if the clear has none.
    public func clearActivities(
        of owner: RegistrationOwner,
        sequence: Int64?,
    ) async throws(GatewayUnavailable) -> ClearOutcome {
        try await clear(owner, laID: nil, withDevice: false, sequence: sequence)
    }

    private func clear(
        _ owner: RegistrationOwner,
        laID: String?,
        withDevice: Bool,
        sequence: Int64?,
    ) async throws(GatewayUnavailable) -> ClearOutcome {
        let statement = PostgresStatement(
            "SELECT cleared, is_stale FROM clear_registrations($1, $2, $3, $4, $5, $6)",
            [
                .integer(owner.sdkAppID), .text(owner.account), .text(owner.installation), .text(laID),
                .boolean(withDevice), .integer(sequence),
            ],
        )
        return try await run(statement) { row throws(PostgresError) in
            try row.boolean(1) ? .staleSequence : .cleared(try row.integer(0))
        }
    }

    /// Keeps whether the app is in front, and the number on its icon. Touches no sequence.
    public func reportPresence(
        _ presence: Presence,
        of owner: RegistrationOwner,
    ) async throws(GatewayUnavailable) -> PresenceOutcome {
        let statement = PostgresStatement(
            "SELECT foreground_until FROM report_presence($1, $2, $3, $4, $5::bigint::integer)",
            [
                .integer(owner.sdkAppID), .text(owner.account), .text(owner.installation),
                .boolean(presence.state == .foreground), .integer(presence.unread),
            ],
        )
        let results = try await run([statement])
        return try reading { () throws(PostgresError) in
            guard let row = results.first?.rows.first else { return .unknownInstallation }
            return .applied(
                foregroundUntil: try row.timestampMicrosecondsOrNil(0).map(UnixTime.init(microseconds:))
            )
        }
    }

    // MARK: - Running

    /// Runs a statement whose answer is one row.
    private func run<Value>(
        _ statement: PostgresStatement,
        _ decode: (PostgresRow) throws(PostgresError) -> Value,
    ) async throws(GatewayUnavailable) -> Value {
        let results = try await run([statement])
        return try reading { () throws(PostgresError) in
            try results.first?.rows.first.map(decode)
        }
    }

    /// Runs statements in one transaction, once more where it lost a race against another transaction.
    func run(_ unit: [PostgresStatement]) async throws(GatewayUnavailable) -> [PostgresResult] {
        do throws(PostgresError) {
            return try await pool.run(unit)
        } catch {
            guard let state = error.sqlState, RegistrationStore.lostRaces.contains(state) else {
                throw unavailable(error)
            }
        }
        do throws(PostgresError) {
            return try await pool.run(unit)
        } catch {
            throw unavailable(error)
        }
    }

    /// Unique violation, deadlock, serialization failure: SQLSTATEs that a repeat can cure.
    private static let lostRaces: Set<String> = ["23505", "40P01", "40001"]

    /// Reads an answer. A schema of another release is the only way to fail.
    func reading<Value>(_ body: () throws(PostgresError) -> Value?) throws(GatewayUnavailable) -> Value {
        do throws(PostgresError) {
            if let value = try body() { return value }
        } catch {
            throw unavailable(error)
        }
        logger.error("PostgreSQL answered without a row")
        throw GatewayUnavailable(.databaseRefused)
    }

    private func unavailable(_ error: PostgresError) -> GatewayUnavailable {
        switch error.kind {
        case .connectionLost, .notConnected, .timeout:
            return GatewayUnavailable(.databaseAway)
        case .server where error.isTransient:
            return GatewayUnavailable(.databaseAway)
        case .server, .invalidText, .parameterOutOfRange, .unexpectedResult:
            alarms?.raise(.databaseRefused(error, for: "a registration"))
            logger.error("PostgreSQL refused a registration", ["error": .describing(error)])
            return GatewayUnavailable(.databaseRefused)
        }
    }
}
