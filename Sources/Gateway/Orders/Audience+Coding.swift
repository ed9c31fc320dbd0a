import LiveActivity
import VerbatimJSON

/// The encoding of an audience in a stored order.
extension Audience {
    func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", word)
        switch self {
        case .activity(let laID): writer.member("laId", laID)
        case .devices(let tokens): Audience.write("tokens", tokens.map(\.hexadecimal), to: &writer)
        case .everyone: break
        case .segments(let all, let any):
            Audience.write("all", all, to: &writer)
            Audience.write("any", any, to: &writer)
        }
        writer.endObject()
    }

    private static func write(_ name: String, _ texts: [String], to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginArray()
        for text in texts {
            writer.string(text)
        }
        writer.endArray()
    }

    /// nil: one that this release does not know, or that names nobody.
    init?(decoding value: JSONValue) {
        func list(_ name: String) -> [String]? {
            guard let value = value[name], value.kind == .array else { return nil }
            let elements = value.elements
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
        switch value["kind"]?.string {
        case "activity":
            guard let laID = value["laId"]?.string else { return nil }
            self = .activity(laID)
        case "devices":
            guard let texts = list("tokens") else { return nil }
            let tokens = texts.compactMap { try? PushToken(parsing: $0) }
            guard tokens.count == texts.count else { return nil }
            self = .devices(tokens)
        case "everyone": self = .everyone
        case "segments":
            guard let all = list("all"), let any = list("any"), !all.isEmpty || !any.isEmpty else { return nil }
            self = .segments(all: all, any: any)
        default: return nil
        }
    }
}
