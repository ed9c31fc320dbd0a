import APNs
import Gateway
import HTTPServer
import Logging
import PostgresClient

/// `livepush serve`.
enum ServeCommand: Command {
    static let name = "serve"
    static let summary = "run a gateway"
    static let discussion = """
        Needs LIVEPUSH_MASTER_KEY in the environment; opens also what LIVEPUSH_PREVIOUS_MASTER_KEY sealed, see
        `livepush master-key rotate`. Writes one JSON line per event to standard error. SIGTERM: answers 503 on /readyz,
        goes on for the grace time, finishes what is under way, exits 0 within 25 seconds.
        """
    static let options = [
        CommandOption.databaseURL,
        CommandOption(
            name: "listen",
            kind: .value("HOST:PORT"),
            help: "127.0.0.1:8080 if absent; port 0 takes a free one"
        ),
        CommandOption(name: "lanes", kind: .value("N"), help: "threads; one less than the machine has cores if absent"),
        CommandOption(
            name: "apns-production",
            kind: .value("URL"),
            help: "https://api.push.apple.com:443 if absent",
        ),
        CommandOption(
            name: "apns-sandbox",
            kind: .value("URL"),
            help: "https://api.sandbox.push.apple.com:443 if absent",
        ),
        CommandOption(
            name: "apns-broadcast-production",
            kind: .value("URL"),
            help: "for pushes to channels; https://api-broadcast.push.apple.com:443 if absent",
        ),
        CommandOption(
            name: "apns-broadcast-sandbox",
            kind: .value("URL"),
            help: "for pushes to channels; https://api-broadcast.sandbox.push.apple.com:443 if absent",
        ),
        CommandOption(
            name: "apns-manage-broadcast-production",
            kind: .value("URL"),
            help: "manages channels; https://api-manage-broadcast.push.apple.com:2196 if absent",
        ),
        CommandOption(
            name: "apns-manage-broadcast-sandbox",
            kind: .value("URL"),
            help: "manages channels; https://api-manage-broadcast.sandbox.push.apple.com:2195 if absent",
        ),
        CommandOption(
            name: "apns-ca-file",
            kind: .value("FILE"),
            help: "certificate authorities in PEM, beside those of the system",
        ),
        CommandOption(name: "apns-connect-timeout", kind: .value("SECONDS"), help: "TCP and TLS; 10 if absent"),
        CommandOption(name: "apns-request-timeout", kind: .value("SECONDS"), help: "for APNs' answer; 20 if absent"),
        CommandOption(
            name: "apns-ping-interval",
            kind: .value("SECONDS"),
            help: "idle time before a PING; 30 if absent"
        ),
        CommandOption(name: "apns-ping-timeout", kind: .value("SECONDS"), help: "for the PING's answer; 10 if absent"),
        CommandOption(
            name: "apns-reconnect-delay",
            kind: .value("SECONDS"),
            help:
                "pause after a connection that came to nothing, doubling, less up to half of it at random; 0.5 if absent",
        ),
        CommandOption(
            name: "apns-reconnect-limit",
            kind: .value("SECONDS"),
            help: "longest pause between two attempts to connect; 60 if absent",
        ),
        CommandOption(
            name: "apns-patience",
            kind: .value("SECONDS"),
            help:
                "until a connection without a first answer gets company, and waiting pushes count as a backlog; 1 if absent",
        ),
        CommandOption(name: "apns-connections", kind: .value("N"), help: "per signing key and lane; 2 if absent"),
        CommandOption(
            name: "retry-schedule",
            kind: .value("SECONDS,..."),
            help: "delays after failed attempts, the last repeats; 1,5,30,120,300,900 if absent",
        ),
        CommandOption(
            name: "too-many-requests-delay",
            kind: .value("SECONDS"),
            help: "first delay after 429 without retry-after, doubling; 10 if absent",
        ),
        CommandOption(
            name: "hold-delay",
            kind: .value("SECONDS"),
            help:
                "delay after a fault that you have to mend, such as a refused key or a missing certificate; doubles for "
                + "a key; 30 if absent",
        ),
        CommandOption(
            name: "hold-limit",
            kind: .value("SECONDS"),
            help: "longest pause before a refused key is tried again; 900 if absent",
        ),
        CommandOption(
            name: "provider-token-age",
            kind: .value("SECONDS"),
            help: "age from which a provider token is replaced, the same on all gateways; 3000 if absent, at most "
                + "3300",
        ),
        CommandOption(
            name: "provider-token-pause",
            kind: .value("SECONDS"),
            help: "age below which it is not, whatever APNs answers; 1200 if absent",
        ),
        CommandOption(
            name: "token-guard-failures",
            kind: .value("N"),
            help: "so many different tokens that fail, with hardly a success, mean a wrong configuration: their pushes "
                + "wait, no token is blamed; 20 if absent",
        ),
        CommandOption(
            name: "token-guard-window",
            kind: .value("SECONDS"),
            help: "the time in which they must fail; 600 if absent",
        ),
        CommandOption(
            name: "token-guard-rest",
            kind: .value("SECONDS"),
            help: "time without a failure after which the guard goes down; 3600 if absent",
        ),
        CommandOption(
            name: "token-guard-proof",
            kind: .value("SECONDS"),
            help: "how long an accepted push proves the configuration; 3600 if absent",
        ),
        CommandOption(
            name: "activity-interval",
            kind: .value("SECONDS"),
            help: "shortest time between two messages' pushes to one activity; of what waits meanwhile only the newest "
                + "goes out; 0: none waits; 1 if absent",
        ),
        CommandOption(
            name: "activity-budget",
            kind: .value("PUSHES"),
            help: "pushes of priority 10 that a phone gets in an hour before updates go with 5; 60 if absent",
        ),
        CommandOption(
            name: "activity-budget-frequent",
            kind: .value("PUSHES"),
            help: "the same for phones that reported frequentPushesEnabled; 240 if absent",
        ),
        CommandOption(
            name: "start-expiration",
            kind: .value("SECONDS"),
            help: "how long the start of an activity is tried, by APNs too; 300 if absent",
        ),
        CommandOption(
            name: "start-token-wait",
            kind: .value("SECONDS"),
            help: "how long after that updates wait for the update token of the activity; 300 if absent",
        ),
        CommandOption(
            name: "start-guard-limit",
            kind: .value("STARTS"),
            help: "starts that a phone is sent within --start-guard-window; 8 if absent",
        ),
        CommandOption(name: "start-guard-window", kind: .value("SECONDS"), help: "600 if absent"),
        CommandOption(
            name: "start-guard-policy",
            kind: .value("notify|delay"),
            help: "what becomes of a start over the limit: a notification in its place, or it waits; notify if absent",
        ),
        CommandOption(
            name: "poll-interval",
            kind: .value("SECONDS"),
            help: "how often due work is looked for; 0.25 if absent"
        ),
        CommandOption(
            name: "database-connect-timeout",
            kind: .value("SECONDS"),
            help: "for connecting and logging in; 10 if absent",
        ),
        CommandOption(
            name: "statement-timeout",
            kind: .value("SECONDS"),
            help: "for a statement, before PostgreSQL cancels it; 30 if absent",
        ),
        CommandOption(
            name: "maintenance-timeout",
            kind: .value("SECONDS"),
            help: "the same for maintenance and takeover; 300 if absent",
        ),
        CommandOption(
            name: "database-wait",
            kind: .value("SECONDS"),
            help: "how long a request waits for a connection to PostgreSQL before its caller is told to try again; "
                + "0.5 if absent",
        ),
        CommandOption(
            name: "database-answer-limit",
            kind: .value("SECONDS"),
            help: "how long a request waits for PostgreSQL's answer before its caller is told to try again; what is "
                + "under way goes on, and the same request again is recognised; 2.5 if absent",
        ),
        CommandOption(name: "heartbeat-interval", kind: .value("SECONDS"), help: "2 if absent"),
        CommandOption(
            name: "takeover-after",
            kind: .value("SECONDS"),
            help: "another instance is dead when its counter stood still so long; 25 if absent",
        ),
        CommandOption(
            name: "send-stop-after",
            kind: .value("SECONDS"),
            help: "this one stops sending after so long without heartbeat; 10 if absent, below takeover-after",
        ),
        CommandOption(
            name: "memory-limit",
            kind: .value("RECIPIENTS"),
            help: "recipients that a lane holds in memory, the rest waits in PostgreSQL; 20000 if absent",
        ),
        CommandOption(
            name: "backlog-limit",
            kind: .value("ROWS"),
            help: "waiting rows from which callers are told to slow down; 1000000 if absent",
        ),
        CommandOption(name: "head-timeout", kind: .value("SECONDS"), help: "for a request's whole head; 10 if absent"),
        CommandOption(name: "body-timeout", kind: .value("SECONDS"), help: "for a request's whole body; 30 if absent"),
        CommandOption(
            name: "idle-timeout",
            kind: .value("SECONDS"),
            help: "how long a connection may stay open between requests; 75 if absent",
        ),
        CommandOption(
            name: "answer-timeout",
            kind: .value("SECONDS"),
            help: "for a client to read an answer; 30 if absent",
        ),
        CommandOption(
            name: "linger-timeout",
            kind: .value("SECONDS"),
            help: "how long a client that still sends is listened to after its last answer; 2 if absent",
        ),
        CommandOption(
            name: "maximum-connections",
            kind: .value("N"),
            help: "HTTP connections per lane; 10000 if absent"
        ),
        CommandOption(
            name: "drain-grace",
            kind: .value("SECONDS"),
            help: "how long requests are still taken after SIGTERM; 5 if absent, 10 at the most",
        ),
        CommandOption(name: "metrics", kind: .value("on|off"), help: "whether /metrics answers; on if absent"),
        CommandOption(name: "log-level", kind: .value("debug|info|warning|error"), help: "info if absent"),
        CommandOption(
            name: "log-summary",
            kind: .value("SECONDS|off"),
            help: "how often the log tells what was sent and what waits, if anything; 60 if absent",
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let configuration = try ServeConfiguration(arguments)
        let seal = try arguments.secretSeal()
        // Nothing but whether the schema is there.
        try await DatabaseSession.run(configuration.gateway.databaseURL) { _, _ in }
        try await GatewayProcess.run(configuration, seal: seal)
    }
}
