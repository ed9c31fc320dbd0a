public import APNs

/// How long PostgreSQL may take.
public struct DatabaseTimeouts: Sendable {
    /// To connect and log in.
    public var connectTimeout: Duration = .seconds(10)
    /// For a statement of a lane, before PostgreSQL cancels it.
    public var statementTimeout: Duration = .seconds(30)
    /// For a statement of maintenance or takeover.
    public var maintenanceTimeout: Duration = .seconds(300)
    /// How long a request waits for a connection where none is open, before the caller is told to try again.
    public var connectionWait: Duration = .milliseconds(500)
    /// How long a request waits for an answer before the caller is told to try again: Tencent's clients give up after 3 s.
    public var answerLimit: Duration = .milliseconds(2500)

    /// The defaults.
    public init() {}
}

/// Limits and intervals of a gateway process.
public struct GatewayConfiguration: Sendable {
    /// PostgreSQL, as a URL or a list of `key=value`.
    public var databaseURL: String
    /// How patient a gateway is with PostgreSQL.
    public var database = DatabaseTimeouts()
    /// APNs hosts and deadlines.
    public var apns: APNsConfiguration
    /// Heartbeat and takeover.
    public var instance = GatewayInstance.Configuration()
    /// When a push that did not come through is tried again.
    public var retrySchedule = RetrySchedule.standard
    /// How often pushes go to one activity.
    public var activityPacing = ActivityPacing.standard
    /// How activities are started by push.
    public var startRules = StartRules.standard
    /// How often due work is looked for.
    public var pollInterval: Duration = .milliseconds(250)
    /// Recipients that one lane holds in memory; past that, work waits in PostgreSQL.
    public var recipientsInMemory = 20_000
    /// Waiting rows from which callers are told to slow down: of all apps due ones without an owner, or of one app those
    /// that are tried again later.
    public var backlogLimit: Int64 = 1_000_000
    /// Connections of each lane to PostgreSQL.
    public var connectionsPerLane = 4

    /// Everything but the database and APNs at its default.
    public init(databaseURL: String, apns: APNsConfiguration) {
        self.databaseURL = databaseURL
        self.apns = apns
    }
}
