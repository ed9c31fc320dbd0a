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
    /// Texts for phones of other languages, the first of a language wins.
    public var translations: [NotificationTranslation]
    /// What happens to the number on the app's icon.
    public var badge: BadgeChange
    /// Wakes the app and shows nothing: only `ext` goes along (Apple: "Pushing background updates to your App").
    public var isSilent: Bool

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
        translations: [NotificationTranslation] = [],
        badge: BadgeChange = .unchanged,
        isSilent: Bool = false,
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.sound = sound
        self.ext = ext
        self.image = image
        self.mutableContent = mutableContent
        self.interruptionLevel = interruptionLevel
        self.translations = translations
        self.badge = badge
        self.isSilent = isSilent
    }

    /// Which translation a phone gets; nil: the content's own texts. `LanguageMatch` has the rule.
    ///
    /// - Parameter language: as the phone reported it.
    public func translation(for language: String?) -> Int? {
        LanguageMatch.choose(for: language, among: self.translations.map(\.language))
    }

    /// The content with the texts of one translation; what the translation lacks stays.
    ///
    /// - Parameter index: a position in `translations`; nil or no such position: the content's own texts.
    public func translated(by index: Int?) -> NotificationContent {
        var content = self
        content.translations = []
        guard let index, self.translations.indices.contains(index) else { return content }
        let translation = self.translations[index]
        if let title = translation.title, !title.isEmpty { content.title = title }
        if let body = translation.body, !body.isEmpty { content.body = body }
        return content
    }

    /// Whether no phone could be sent anything: nothing to show in any language, and not silent.
    public var isNothing: Bool {
        guard !self.isSilent, self.isEmpty else { return false }
        return self.translations.indices.allSatisfy { self.translated(by: $0).isEmpty }
    }

    /// Whether it shows nothing in its own language: neither title nor subtitle nor body.
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
