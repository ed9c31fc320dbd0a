import APNs
import LiveActivity
import VerbatimJSON

/// What the options of `payload start`, `payload update` and `payload end` say.
struct PayloadOptions {
    let push: LiveActivityPush
    /// Whether the timestamp is that of the moment of sending, rather than one that was asked for.
    let isSentNow: Bool
    /// How many seconds after that moment the push expires; nil if a date was asked for, or 0.
    let life: Int64?
    /// Whom the curl command goes to; nil: the reader puts it in.
    let token: PushToken?
    let lastTimestamp: Int64?
    let system: IOSVersion?
    /// `https://HOST[:PORT]`, without a slash at its end.
    let host: String
    let caFile: String?
    /// What `certificate token` is to be asked for, as far as it was given.
    let sdkAppID: Int64?
    let businessID: Int64?
    /// By which the state is checked; nil: by none.
    let schema: PayloadSchema?

    static let all =
        [
            CommandOption(name: "bundle-id", kind: .value("B"), help: "bundle id of the iOS app, without any suffix"),
            CommandOption(
                name: "token",
                kind: .value("TOKEN"),
                help: "the activity's push token, for start the push-to-start token; hexadecimal or base64",
            ),
            CommandOption(
                name: "channel",
                kind: .value("ID"),
                help: "a broadcast channel in place of a token (iOS 18), base64",
            ),
            CommandOption(
                name: "channel-storage",
                kind: .value("none|recent"),
                help: "the channel's storage policy; none if absent",
            ),
            CommandOption(name: "content-state", kind: .value("JSON"), help: "the new state; stays byte for byte"),
            CommandOption(
                name: "content-state-file",
                kind: .value("FILE"),
                help: "the same from a file; - reads standard input",
            ),
            CommandOption(
                name: "attributes-type",
                kind: .value("NAME"),
                help: "start: the app's ActivityAttributes type"
            ),
            CommandOption(name: "attributes", kind: .value("JSON"), help: "start: what that type is decoded from"),
            CommandOption(
                name: "attributes-file",
                kind: .value("FILE"),
                help: "the same from a file; - reads standard input",
            ),
            CommandOption(
                name: "input-push-token",
                kind: .flag,
                help: "start: ask for an update token (iOS 18)",
            ),
            CommandOption(
                name: "input-push-channel",
                kind: .value("ID"),
                help: "start: let the activity follow a broadcast channel (iOS 18)",
            ),
            CommandOption(name: "title", kind: .value("TEXT"), help: "alert: its title"),
            CommandOption(
                name: "title-loc-key",
                kind: .value("KEY"),
                help: "alert: key of the title in Localizable.strings"
            ),
            CommandOption(
                name: "title-loc-arg",
                kind: .values("TEXT"),
                help: "what takes the place of its %@; repeatable"
            ),
            CommandOption(name: "body", kind: .value("TEXT"), help: "alert: its text"),
            CommandOption(
                name: "body-loc-key",
                kind: .value("KEY"),
                help: "alert: key of the text in Localizable.strings"
            ),
            CommandOption(
                name: "body-loc-arg",
                kind: .values("TEXT"),
                help: "what takes the place of its %@; repeatable"
            ),
            CommandOption(name: "sound", kind: .value("FILE"), help: "alert: a sound file of the app, or default"),
            CommandOption(
                name: "stale-date",
                kind: .value("DATE"),
                help: "from when on the state may show as outdated"
            ),
            CommandOption(
                name: "dismissal-date",
                kind: .value("DATE"),
                help: "end: when the activity leaves the lock screen; 0: at once; within four hours if absent",
            ),
            CommandOption(
                name: "relevance-score",
                kind: .value("NUMBER"),
                help: "the highest of an app's activities gets the Dynamic Island",
            ),
            CommandOption(name: "timestamp", kind: .value("DATE"), help: "now if absent"),
            CommandOption(
                name: "last-timestamp",
                kind: .value("DATE"),
                help: "that of the push before, to check against",
            ),
            CommandOption(
                name: "priority",
                kind: .value("5|10"),
                help:
                    "10 at once, which counts toward the phone's hourly budget, 5 when it suits the phone; 10 if absent",
            ),
            CommandOption(
                name: "expiration",
                kind: .value("DATE"),
                help:
                    "until when APNs keeps trying; 0: once; if absent five minutes for start, 8 h for update, 12 h for end",
            ),
            CommandOption(name: "collapse-id", kind: .value("ID"), help: "apns-collapse-id, at most 64 bytes"),
            CommandOption(name: "apns-id", kind: .value("UUID"), help: "APNs makes one if absent"),
            CommandOption(name: "ios-version", kind: .value("V"), help: "of the phone, such as 17.4, to check against"),
            CommandOption(
                name: "environment",
                kind: .value("sandbox|production"),
                help: "sandbox for builds from Xcode, production for TestFlight and the App Store; sandbox if absent",
            ),
            CommandOption(name: "apns-production", kind: .value("URL"), help: "\(defaultHosts.production) if absent"),
            CommandOption(name: "apns-sandbox", kind: .value("URL"), help: "\(defaultHosts.sandbox) if absent"),
            CommandOption(
                name: "apns-broadcast-production",
                kind: .value("URL"),
                help: "for channels; \(defaultHosts.broadcastProduction) if absent",
            ),
            CommandOption(
                name: "apns-broadcast-sandbox",
                kind: .value("URL"),
                help: "for channels; \(defaultHosts.broadcastSandbox) if absent",
            ),
            CommandOption(name: "apns-ca-file", kind: .value("FILE"), help: "curl: a certificate authority in PEM"),
            CommandOption.sdkAppID,
            CommandOption(
                name: "business-id",
                kind: .value("N"),
                help: "which certificate the provider token is taken of, to be printed with the command",
            ),
            CommandOption(name: "json", kind: .flag, help: "print everything as one JSON object"),
        ] + PayloadSchema.options

    private static let defaultHosts = (
        production: "https://api.push.apple.com:443", sandbox: "https://api.sandbox.push.apple.com:443",
        broadcastProduction: "https://api-broadcast.push.apple.com:443",
        broadcastSandbox: "https://api-broadcast.sandbox.push.apple.com:443",
    )

    init(_ arguments: CommandArguments, event: ActivityEvent, now: Int64) throws {
        let reader = PayloadReader(arguments: arguments, now: now)
        let channel = arguments.text("channel")
        if channel != nil && arguments.text("token") != nil {
            throw UsageError("--channel and --token: a push goes to one of them")
        }
        let storage = try arguments.oneOf("channel-storage", ["none", "recent"])
        let destination = channel.map {
            LiveActivityPush.Destination.channel($0, storage: storage == "recent" ? .mostRecent : .none)
        }
        let timestamp = try reader.date("timestamp")
        let expiration = try reader.date("expiration")
        let lastsUntil = LiveActivityPush.defaultExpiration(of: event, to: destination ?? .phone, from: now)
        isSentNow = timestamp == nil
        life = expiration == nil && lastsUntil > 0 ? lastsUntil - now : nil
        push = LiveActivityPush(
            bundleID: try arguments.required("bundle-id"),
            destination: destination ?? .phone,
            content: try reader.content(event),
            timestamp: timestamp ?? now,
            priority: try reader.integer("priority").map { Int($0) },
            expiration: expiration ?? lastsUntil,
            collapseID: arguments.text("collapse-id"),
            id: arguments.text("apns-id"),
        )
        token = try reader.token()
        lastTimestamp = try reader.date("last-timestamp")
        system = try reader.system()
        host = try PayloadOptions.host(arguments, isBroadcast: channel != nil)
        caFile = arguments.text("apns-ca-file")
        sdkAppID = try arguments.integer("sdk-app-id")
        businessID = try arguments.integer("business-id")
        schema = try PayloadSchema(arguments)
    }

    private static func host(_ arguments: CommandArguments, isBroadcast: Bool) throws -> String {
        let environment = try arguments.oneOf("environment", ["sandbox", "production"]) ?? "sandbox"
        let option = isBroadcast ? "apns-broadcast-\(environment)" : "apns-\(environment)"
        let defaults =
            isBroadcast
            ? (defaultHosts.broadcastSandbox, defaultHosts.broadcastProduction)
            : (defaultHosts.sandbox, defaultHosts.production)
        var url = arguments.text(option) ?? (environment == "sandbox" ? defaults.0 : defaults.1)
        do {
            _ = try APNsEndpoint(parsing: url)
        } catch {
            throw UsageError("--\(option): \(error)")
        }
        if url.hasSuffix("/") { url.removeLast() }
        return url
    }
}
