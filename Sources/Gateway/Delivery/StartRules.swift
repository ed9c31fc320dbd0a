/// How activities are started by push.
public struct StartRules: Sendable, Equatable {
    /// How long a start may be tried and delivered: its apns-expiration. Zero would lose it to a phone that is away for a
    /// moment, and hours later nobody expects it any more.
    public var lifetime: Duration
    /// How long after that the activity's update token is waited for: the app registers it once the person has allowed the
    /// activity.
    public var tokenWait: Duration
    /// How many starts a phone is sent within ``guardWindow``. iOS takes about ten in a row, and APNs answers 200 to the
    /// others too (Apple Developer Forums 799505).
    public var guardLimit: Int64
    /// See ``guardLimit``.
    public var guardWindow: Duration
    /// Whether a start over the limit waits for its turn; otherwise a notification takes its place.
    public var delaysGuarded: Bool

    /// How long a start that gets no further holds up what was accepted after it for the same activity.
    public var patience: Duration { lifetime + tokenWait }

    /// Five minutes each; eight starts in ten minutes, and notifications in place of more.
    public static let standard = StartRules(
        lifetime: .seconds(300),
        tokenWait: .seconds(300),
        guardLimit: 8,
        guardWindow: .seconds(600),
        delaysGuarded: false,
    )

    /// Makes rules.
    public init(
        lifetime: Duration,
        tokenWait: Duration,
        guardLimit: Int64,
        guardWindow: Duration,
        delaysGuarded: Bool,
    ) {
        self.lifetime = lifetime
        self.tokenWait = tokenWait
        self.guardLimit = guardLimit
        self.guardWindow = guardWindow
        self.delaysGuarded = delaysGuarded
    }
}
