import LiveActivity
import VerbatimJSON

/// The encoding of an alert, in a stored order and in `waiting_alert.content`.
extension ActivityAlert {
    func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        for (name, text) in [("title", title), ("body", body)] {
            guard let text else { continue }
            writer.key(name)
            text.write(to: &writer)
        }
        writer.member("subtitle", subtitle)
        writer.member("sound", sound)
        writer.endObject()
    }

    init(decoding value: JSONValue) {
        self.init(
            title: value["title"].flatMap { try? AlertText($0) },
            subtitle: value["subtitle"]?.string,
            body: value["body"].flatMap { try? AlertText($0) },
            sound: value["sound"]?.string,
        )
    }
}
