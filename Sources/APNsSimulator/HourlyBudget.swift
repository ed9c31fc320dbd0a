import VerbatimJSON

/// So many pushes in an hour that begins with the first of them.
struct HourlyBudget {
    /// In seconds.
    static let window: Int64 = 3600

    private var spent = 0
    /// Seconds since 1970.
    private var windowStart: Int64 = 0

    /// Takes one.
    ///
    /// - Returns: false if there is none left; what comes then costs nothing.
    mutating func take(limit: Int, now: Int64) -> Bool {
        if !isRunning(at: now) {
            spent = 0
            windowStart = now
        }
        guard spent < limit else { return false }
        spent += 1
        return true
    }

    private func isRunning(at now: Int64) -> Bool {
        spent > 0 && now < windowStart + HourlyBudget.window
    }

    /// Writes `{"limit", "spent", "windowStart"}`; `windowStart` is null where nothing is spent.
    func write(to writer: inout JSONWriter, limit: Int, now: Int64) {
        writer.beginObject()
        writer.member("limit", limit)
        writer.member("spent", isRunning(at: now) ? spent : 0)
        writer.key("windowStart")
        if isRunning(at: now) {
            writer.integer(windowStart)
        } else {
            writer.null()
        }
        writer.endObject()
    }
}
