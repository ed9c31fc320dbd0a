import APNs
import Gateway
import Glibc
import HTTPServer
import Logging

/// What the options of `serve` say.
struct ServeConfiguration: Sendable {
    let listen: ListenAddress
    let lanes: Int
    let gateway: GatewayConfiguration
    let http: HTTPServerConfiguration
    let drainGrace: Duration
    let showsMetrics: Bool
    let logLevel: Logger.Level
    /// How often the log tells what happened; nil for never.
    let summaryInterval: Duration?

    init(_ arguments: CommandArguments) throws {
        listen = try ServeConfiguration.usage {
            try ListenAddress(parsing: arguments.text("listen") ?? "127.0.0.1:8080")
        }
        let cores = Int64(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        lanes = Int(try arguments.integer("lanes", in: 1...256) ?? max(1, cores - 1))
        gateway = try ServeConfiguration.gateway(arguments)
        var http = HTTPServerConfiguration()
        http.headDeadline = try arguments.duration("head-timeout") ?? http.headDeadline
        http.bodyDeadline = try arguments.duration("body-timeout") ?? http.bodyDeadline
        http.idleDeadline = try arguments.duration("idle-timeout") ?? http.idleDeadline
        http.answerDeadline = try arguments.duration("answer-timeout") ?? http.answerDeadline
        http.lingerDeadline = try arguments.duration("linger-timeout") ?? http.lingerDeadline
        if let connections = try arguments.integer("maximum-connections", in: 1...1_000_000) {
            http.maximumConnections = Int(connections)
        }
        self.http = http
        drainGrace = try arguments.duration("drain-grace") ?? .seconds(5)
        guard drainGrace <= .seconds(10) else { throw UsageError("--drain-grace: at most 10 seconds") }
        showsMetrics = try arguments.oneOf("metrics", ["on", "off"]) != "off"
        let level = try arguments.oneOf("log-level", Logger.Level.allCases.map(\.rawValue))
        logLevel = level.flatMap(Logger.Level.init(rawValue:)) ?? .info
        summaryInterval =
            arguments.text("log-summary") == "off" ? nil : try arguments.duration("log-summary") ?? .seconds(60)
    }

    /// Where APNs is and how long to wait for it.
    static func apns(_ arguments: CommandArguments) throws -> APNsConfiguration {
        var apns = APNsConfiguration()
        let hosts: [(String, WritableKeyPath<APNsConfiguration, APNsEndpoint>)] = [
            ("apns-production", \.production), ("apns-sandbox", \.sandbox),
            ("apns-broadcast-production", \.broadcastProduction), ("apns-broadcast-sandbox", \.broadcastSandbox),
            ("apns-manage-broadcast-production", \.manageBroadcastProduction),
            ("apns-manage-broadcast-sandbox", \.manageBroadcastSandbox),
        ]
        for (option, host) in hosts {
            guard let url = arguments.text(option) else { continue }
            apns[keyPath: host] = try usage { try APNsEndpoint(parsing: url) }
        }
        apns.caFile = arguments.text("apns-ca-file")
        apns.connectTimeout = try arguments.duration("apns-connect-timeout") ?? apns.connectTimeout
        return apns
    }

    /// The gateway's own part: limits, intervals and rules.
    static func gateway(_ arguments: CommandArguments) throws -> GatewayConfiguration {
        var apns = try apns(arguments)
        apns.requestTimeout = try arguments.duration("apns-request-timeout") ?? apns.requestTimeout
        apns.pingInterval = try arguments.duration("apns-ping-interval") ?? apns.pingInterval
        apns.pingTimeout = try arguments.duration("apns-ping-timeout") ?? apns.pingTimeout
        apns.patience = try arguments.duration("apns-patience") ?? apns.patience
        apns.shortestReconnectDelay = try arguments.duration("apns-reconnect-delay") ?? apns.shortestReconnectDelay
        apns.longestReconnectDelay = max(
            try arguments.duration("apns-reconnect-limit") ?? apns.longestReconnectDelay,
            apns.shortestReconnectDelay,
        )
        if let connections = try arguments.integer("apns-connections", in: 1...64) {
            apns.connectionsPerKey = Int(connections)
        }
        apns.providerTokens = try providerTokens(arguments)
        var gateway = GatewayConfiguration(databaseURL: try arguments.required("database-url"), apns: apns)
        gateway.database = try database(arguments)
        let schedule = RetrySchedule.standard
        gateway.retrySchedule = RetrySchedule(
            delays: try arguments.durations("retry-schedule") ?? schedule.delays,
            tooManyRequestsDelay: try arguments.duration("too-many-requests-delay") ?? schedule.tooManyRequestsDelay,
            holdDelay: try arguments.duration("hold-delay") ?? schedule.holdDelay,
        )
        gateway.apns.shortestHold = gateway.retrySchedule.holdDelay
        gateway.apns.longestHold = try arguments.duration("hold-limit") ?? gateway.apns.longestHold
        gateway.activityPacing.interval =
            try arguments.duration("activity-interval") ?? gateway.activityPacing.interval
        let budgets = 0...Int64(1_000_000)
        if let budget = try arguments.integer("activity-budget", in: budgets) {
            gateway.activityPacing.hourlyBudget = budget
        }
        if let budget = try arguments.integer("activity-budget-frequent", in: budgets) {
            gateway.activityPacing.frequentHourlyBudget = budget
        }
        gateway.startRules.lifetime = try arguments.duration("start-expiration") ?? gateway.startRules.lifetime
        gateway.startRules.tokenWait = try arguments.duration("start-token-wait") ?? gateway.startRules.tokenWait
        gateway.startRules.guardWindow = try arguments.duration("start-guard-window") ?? gateway.startRules.guardWindow
        if let limit = try arguments.integer("start-guard-limit", in: 0...1000) {
            gateway.startRules.guardLimit = limit
        }
        gateway.startRules.delaysGuarded = try arguments.oneOf("start-guard-policy", ["notify", "delay"]) == "delay"
        gateway.pollInterval = try arguments.duration("poll-interval") ?? gateway.pollInterval
        var instance = GatewayInstance.Configuration()
        instance.heartbeatInterval = try arguments.duration("heartbeat-interval") ?? instance.heartbeatInterval
        instance.takeoverAfter = try arguments.duration("takeover-after") ?? instance.takeoverAfter
        instance.sendStopAfter = try arguments.duration("send-stop-after") ?? instance.sendStopAfter
        guard instance.sendStopAfter < instance.takeoverAfter, instance.heartbeatInterval < instance.sendStopAfter
        else {
            throw UsageError("--heartbeat-interval must be below --send-stop-after, and that below --takeover-after")
        }
        instance.tokenFailures = try tokenFailures(arguments)
        gateway.instance = instance
        if let recipients = try arguments.integer("memory-limit", in: 500...10_000_000) {
            gateway.recipientsInMemory = Int(recipients)
        }
        gateway.backlogLimit = try arguments.integer("backlog-limit", in: 1...1_000_000_000) ?? gateway.backlogLimit
        return gateway
    }

    private static func providerTokens(_ arguments: CommandArguments) throws -> ProviderTokenRules {
        var rules = ProviderTokenRules()
        rules.replacedAfter = try arguments.duration("provider-token-age") ?? rules.replacedAfter
        rules.shortestLife = try arguments.duration("provider-token-pause") ?? rules.shortestLife
        // APNs refuses one of an hour, and the new one takes a moment to come into use.
        guard rules.replacedAfter <= .seconds(3300) else { throw UsageError("--provider-token-age: at most 3300") }
        guard rules.shortestLife <= rules.replacedAfter else {
            throw UsageError("--provider-token-pause must not be above --provider-token-age")
        }
        return rules
    }

    private static func database(_ arguments: CommandArguments) throws -> DatabaseTimeouts {
        var database = DatabaseTimeouts()
        database.connectTimeout = try arguments.duration("database-connect-timeout") ?? database.connectTimeout
        database.statementTimeout = try arguments.duration("statement-timeout") ?? database.statementTimeout
        database.maintenanceTimeout = try arguments.duration("maintenance-timeout") ?? database.maintenanceTimeout
        database.connectionWait = try arguments.duration("database-wait") ?? database.connectionWait
        database.answerLimit = try arguments.duration("database-answer-limit") ?? database.answerLimit
        return database
    }

    private static func tokenFailures(_ arguments: CommandArguments) throws -> TokenFailureRules {
        var rules = TokenFailureRules()
        if let failures = try arguments.integer("token-guard-failures", in: 2...1000) {
            rules.failures = Int(failures)
        }
        rules.window = try arguments.duration("token-guard-window") ?? rules.window
        rules.rest = try arguments.duration("token-guard-rest") ?? rules.rest
        rules.proof = try arguments.duration("token-guard-proof") ?? rules.proof
        return rules
    }

    /// A value that its own type refuses is a fault of the command line.
    private static func usage<Value>(_ body: () throws -> Value) throws(UsageError) -> Value {
        do {
            return try body()
        } catch {
            throw UsageError("\(error)")
        }
    }
}
