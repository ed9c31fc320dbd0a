import VerbatimJSON

/// The body of a Live Activity push (Apple: "Starting and updating Live Activities with ActivityKit push notifications").
public enum LiveActivityPayload {
    /// The bytes of one push.
    ///
    /// - Parameters:
    ///   - timestamp: Unix seconds, of the moment of sending. The system ignores a push whose timestamp is older than the
    ///     last it showed, and one with milliseconds, which look like the far future.
    ///   - dismissalDate: what `DismissalDate.toSend` answered; left out on an update whatever it is.
    /// - Returns: the body. Compare its size with `PayloadLimit`.
    public static func encode(_ content: ActivityContent, timestamp: Int64, dismissalDate: Int64?) -> [UInt8] {
        LiveActivityPayloadTemplate(content, dismissalDate: dismissalDate).encode(timestamp: timestamp)
    }

    /// Whether a push of this content is within `PayloadLimit.bytes` for sure, as can be seen without encoding it.
    public static func surelyFits(_ content: ActivityContent) -> Bool {
        let json = content.contentState.count + (content.relevanceScore?.count ?? 0)
        if content.alert == nil, content.start == nil { return PayloadLimit.surelyHolds(texts: [], json: json) }
        let alert = content.sentAlert
        let texts = (alert?.title?.strings ?? []) + (alert?.body?.strings ?? [])
        return PayloadLimit.surelyHolds(
            texts: texts + [
                alert?.subtitle, alert?.sound, content.start?.attributesType,
                content.start?.pushChannel,
            ],
            // Each argument of a localized text has quotation marks and a comma.
            json: json + (content.start?.attributes.count ?? 0) + 3 * texts.count,
        )
    }
}

extension ActivityContent {
    /// The alert as it is sent.
    fileprivate var sentAlert: ActivityAlert? {
        self.event == .start ? self.alert?.completed : self.alert
    }
}

/// Many pushes of one content that differ only in their timestamp, for about the price of a copy each.
public struct LiveActivityPayloadTemplate: Sendable {
    private let bytes: [UInt8]
    /// Where the timestamp's digits go.
    private let timestampOffset: Int

    /// Encodes all but the timestamp.
    ///
    /// - Parameter dismissalDate: what `DismissalDate.toSend` answered; left out on an update whatever it is.
    public init(_ content: ActivityContent, dismissalDate: Int64?) {
        var writer = JSONWriter(
            capacity: 256 + content.contentState.count + (content.start?.attributes.count ?? 0)
        )
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("timestamp")
        self.timestampOffset = writer.bytes.count

        // Stands for the digits, so that the comma behind them is written.
        writer.raw([])
        writer.member("event", content.event.rawValue)
        if !content.contentState.isEmpty { writer.member("content-state", raw: content.contentState) }
        if content.event == .start, let start = content.start { Self.write(start, to: &writer) }
        if content.event == .end { writer.member("dismissal-date", dismissalDate) }
        writer.member("stale-date", content.staleDate)
        writer.member("relevance-score", raw: content.relevanceScore)
        if let alert = content.sentAlert, !alert.isEmpty {
            writer.key("alert")
            writer.beginObject()
            Self.write("title", alert.title, to: &writer)
            if let subtitle = alert.subtitle, !subtitle.isEmpty { writer.member("subtitle", subtitle) }
            Self.write("body", alert.body, to: &writer)
            writer.member("sound", alert.sound)
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        self.bytes = writer.bytes
    }

    /// The bytes of the push with this timestamp, in Unix seconds.
    public func encode(timestamp: Int64) -> [UInt8] {
        let digits = String(timestamp).utf8
        var payload: [UInt8] = []
        payload.reserveCapacity(self.bytes.count + digits.count)
        payload.append(contentsOf: self.bytes[..<self.timestampOffset])
        payload.append(contentsOf: digits)
        payload.append(contentsOf: self.bytes[self.timestampOffset...])
        return payload
    }

    private static func write(_ start: ActivityStart, to writer: inout JSONWriter) {
        writer.member("attributes-type", start.attributesType)
        writer.member("attributes", raw: start.attributes)
        if start.wantsPushToken { writer.member("input-push-token", 1) }
        writer.member("input-push-channel", start.pushChannel)
    }

    private static func write(_ name: String, _ text: AlertText?, to writer: inout JSONWriter) {
        guard let text, !text.isEmpty else { return }
        writer.key(name)
        text.write(to: &writer)
    }
}
