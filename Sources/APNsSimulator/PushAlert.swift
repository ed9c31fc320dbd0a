import VerbatimJSON

/// What a push says and how it sounds, as text to show.
struct PushAlert: Equatable {
    var title: String?
    var subtitle: String?
    var body: String?
    var sound: String?

    /// The alert of a Live Activity: an object whose title and body are texts or `{loc-key, loc-args}` and whose sound
    /// lies beside them (Apple: "Starting and updating Live Activities with ActivityKit push notifications").
    ///
    /// - Returns: nil if there is neither a title nor a body.
    init?(liveActivity alert: JSONValue) {
        title = alert["title"].flatMap(PushAlert.text)
        body = alert["body"].flatMap(PushAlert.text)
        guard title != nil || body != nil else { return nil }
        sound = alert["sound"].flatMap(PushAlert.soundName)
    }

    /// The alert of a notification: a text, which is the body, or an object (Apple: "Generating a remote notification").
    init(notification aps: JSONValue) {
        sound = aps["sound"].flatMap(PushAlert.soundName)
        guard let alert = aps["alert"] else { return }
        if let text = alert.string {
            body = text
            return
        }
        title = PushAlert.localized(alert, key: "title-loc-key", arguments: "title-loc-args") ?? alert["title"]?.string
        subtitle =
            PushAlert.localized(alert, key: "subtitle-loc-key", arguments: "subtitle-loc-args")
            ?? alert["subtitle"]?.string
        body = PushAlert.localized(alert, key: "loc-key", arguments: "loc-args") ?? alert["body"]?.string
    }

    /// Whether there are words to show.
    var hasText: Bool {
        [title, subtitle, body].contains { !($0 ?? "").isEmpty }
    }

    /// `default`, a file name, or the name in the dictionary of a critical alert.
    private static func soundName(_ sound: JSONValue) -> String? {
        sound.string ?? sound["name"]?.string
    }

    private static func text(_ value: JSONValue) -> String? {
        value.string ?? localized(value, key: "loc-key", arguments: "loc-args")
    }

    /// The key stands for its text, which only the app has; `%@`, which keys often hold, takes the next argument.
    private static func localized(_ value: JSONValue, key: String, arguments: String) -> String? {
        guard let key = value[key]?.string else { return nil }
        var rest = (value[arguments]?.elements ?? []).compactMap(\.string)[...]
        var text = ""
        var characters = key[...]
        while let character = characters.first {
            if characters.hasPrefix("%@"), let argument = rest.popFirst() {
                text += argument
                characters.removeFirst(2)
            } else {
                text.append(character)
                characters.removeFirst()
            }
        }
        return rest.isEmpty ? text : text + " (" + rest.joined(separator: ", ") + ")"
    }

    /// Writes the members of the alert that there are.
    func write(to writer: inout JSONWriter) {
        writer.member("title", title)
        writer.member("subtitle", subtitle)
        writer.member("body", body)
        writer.member("sound", sound)
    }
}
