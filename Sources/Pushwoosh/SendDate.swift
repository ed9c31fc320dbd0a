import Gateway
import LiveActivity

/// `send_date` with `timezone`: when a notification is sent.
enum SendDate {
    /// How long it may have passed, and how far ahead it may be, in seconds.
    static let range: ClosedRange<Int64> = -86_400...30 * 86_400

    /// Reads both fields.
    ///
    /// - Parameters:
    ///   - now: by PostgreSQL's clock.
    ///   - time: when the clocks of a zone show a local time; nil if there is no such zone.
    /// - Returns: nil: at once.
    static func read(
        in fields: RequestFields,
        now: UnixTime,
        time: (_ localTime: String, _ zone: String) async throws(PushwooshFault) -> UnixTime?,
    ) async throws(PushwooshFault) -> UnixTime? {
        let zone = try fields.text("timezone")
        guard let text = try fields.text("send_date"), text != "now" else { return nil }
        // With the time of UTC: a day or an hour that there is not is refused whatever the zone.
        guard isForm(text), let asUTC = CalendarTime(iso8601: text, assumingUTC: true) else {
            throw fields.fault("send_date", "must be now, or a date and time such as 2026-06-16 16:00")
        }
        var sendAt = UnixTime(seconds: asUTC.seconds)
        if let zone, zone != "UTC" {
            guard zone.utf8.count <= 64, let local = try await time(text, zone) else {
                throw fields.fault("timezone", "must be the IANA name of a time zone, such as Europe/Berlin")
            }
            sendAt = local
        }
        guard range.contains(sendAt.seconds - now.seconds) else {
            throw fields.fault("send_date", "must be at most a day ago and at most 30 days ahead")
        }
        return now < sendAt ? sendAt : nil
    }

    /// `YYYY-MM-DD HH:mm`, with seconds too, as its other methods take them.
    private static func isForm(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 16 || bytes.count == 19 else { return false }
        return zip(bytes, "0000-00-00 00:00:00".utf8).allSatisfy { byte, form in
            form == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == form
        }
    }
}
