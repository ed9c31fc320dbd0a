/// An option of `app add` and `app set` that sets one of the app's rate limits.
struct RateLimitOption: Sendable {
    /// Without the dashes.
    let name: String
    private let maximum: Int64
    private let help: String

    /// In the order in which `app set` writes them.
    static let all = [
        RateLimitOption(
            name: "requests-per-second",
            maximum: 1_000_000,
            help: "requests to the server API that the app may make; 60007 over it",
        ),
        RateLimitOption(
            name: "caller-requests-per-second",
            maximum: 1_000_000,
            help: "requests to the server API that one identifier may make; 60007 over it",
        ),
        RateLimitOption(
            name: "batch-recipients-per-minute",
            maximum: 100_000_000,
            help: "recipients in To_Account of batchsendmsg (90057 over it) and timpush/batch (60007)",
        ),
        RateLimitOption(
            name: "client-requests-per-minute",
            maximum: 100_000_000,
            help: "requests under /v1 for one account; 429 over it",
        ),
        RateLimitOption(
            name: "usersig-failures-per-minute",
            maximum: 100_000_000,
            help: "after so many UserSigs of one identifier that are not accepted, the next are answered 70050 until "
                + "there was none for a minute; a good one always passes",
        ),
        RateLimitOption(
            name: "seconds-between-pushes-to-all",
            maximum: 86_400,
            help: "how far apart timpush/push and im_push must come, at all gateways together; 90024 sooner",
        ),
        RateLimitOption(
            name: "pushes-to-all-per-day",
            maximum: 1_000_000,
            help:
                "how many of timpush/push and im_push are taken within 24 hours, by all gateways together; 90047 over it",
        ),
    ]

    private init(name: String, maximum: Int64, help: String) {
        self.name = name
        self.maximum = maximum
        self.help = help
    }

    var option: CommandOption {
        CommandOption(name: name, kind: .value("N|off"), help: help)
    }

    /// A number or `off`; nil where it is not given.
    func value(in arguments: CommandArguments) throws(UsageError) -> String? {
        guard let text = arguments.text(name), text != "off" else { return arguments.text(name) }
        guard let number = Int64(text), (1...maximum).contains(number) else {
            throw UsageError("--\(name): expected off or a whole number from 1 to \(maximum)")
        }
        return String(number)
    }
}
