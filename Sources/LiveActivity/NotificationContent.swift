/// What a normal notification shows and carries.
public struct NotificationContent: Sendable, Equatable, CustomStringConvertible {
    /// First line.
    public var title: String?
    /// Second line.
    public var subtitle: String?
    /// The text.
    public var body: String?
    /// Name of a sound file in the app; `default`; or Tencent's `push.no_sound`. nil is silent as well.
    public var sound: String?
    /// Passed through to the app as a string, whatever it holds (Tencent's `Ext`).
    public var ext: String?
    /// URL of a picture for the app's notification service extension (Tencent's `Image`).
    public var image: String?
    /// Whether the app's notification service extension may change the notification before it is shown.
    public var mutableContent: Bool
    /// How much the notification may disturb; nil leaves it to the system, which takes it as `active`.
    public var interruptionLevel: InterruptionLevel?

    /// Makes the content of a notification; whatever is not given is left out of the push.
    public init(
        title: String? = nil,
        subtitle: String? = nil,
        body: String? = nil,
        sound: String? = nil,
        ext: String? = nil,
        image: String? = nil,
        mutableContent: Bool = false,
        interruptionLevel: InterruptionLevel? = nil,
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.sound = sound
        self.ext = ext
        self.image = image
        self.mutableContent = mutableContent
        self.interruptionLevel = interruptionLevel
    }

    /// Whether there is nothing to show: neither title nor subtitle nor body.
    public var isEmpty: Bool {
        (self.title ?? "").isEmpty && (self.subtitle ?? "").isEmpty && (self.body ?? "").isEmpty
    }

    /// The size of its texts; never the texts.
    public var description: String {
        let sizes = [self.title, self.subtitle, self.body].map { ($0 ?? "").utf8.count }
        return "notification of \(sizes[0]) + \(sizes[1]) + \(sizes[2]) bytes"
    }
}

/// How much a notification may disturb. The raw value is the word in Tencent's `InterruptionLevel` and Apple's
/// `aps.interruption-level`.
public enum InterruptionLevel: String, Sendable, Equatable {
    /// Lights up the screen and may play a sound.
    case active
    /// Waits in the list.
    case passive
    /// Breaks through a Focus, if the app is entitled to.
    case timeSensitive = "time-sensitive"
    /// Breaks through a Focus and the mute switch, if the app is entitled to.
    case critical
}
