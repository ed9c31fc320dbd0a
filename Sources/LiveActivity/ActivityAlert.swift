/// What a Live Activity push says aloud: shown on the watch, and lights up the expanded activity on the phone.
public struct ActivityAlert: Sendable, Equatable, CustomStringConvertible {
    /// First line.
    public var title: AlertText?
    /// Pushwoosh's: Apple documents it for the alert of a notification only.
    public var subtitle: String?
    /// Second line.
    public var body: AlertText?
    /// Name of a sound file in the app, or `default`. It must stand inside the alert: ActivityKit ignores `aps.sound`.
    public var sound: String?

    /// Makes an alert.
    public init(title: AlertText? = nil, subtitle: String? = nil, body: AlertText? = nil, sound: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.sound = sound
    }

    /// Whether it has no text. Apple leaves undefined what an alert without text does, so none is sent then.
    public var isEmpty: Bool {
        (self.title?.isEmpty ?? true) && (self.body?.isEmpty ?? true)
            && (self.subtitle?.allSatisfy(\.isWhitespace) ?? true)
    }

    /// The alert of a start: where it has only one of title and body, that stands for both. Apple wants both and leaves
    /// undefined what a start with one does; phones may bring up nothing.
    var completed: ActivityAlert {
        var alert = self
        if alert.title?.isEmpty ?? true { alert.title = self.body }
        if alert.body?.isEmpty ?? true { alert.body = self.title }
        return alert
    }

    /// Which parts there are; never their text.
    public var description: String {
        "alert of title \(self.title?.description ?? "none"), body \(self.body?.description ?? "none")"
    }
}
