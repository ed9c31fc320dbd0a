/// From when on the app may show its state as outdated.
public enum StaleDate {
    /// What is to be said of a date.
    ///
    /// - Parameter now: Unix seconds.
    public static func findings(event: ActivityEvent, date: Int64?, now: Int64) -> [PayloadFinding] {
        guard let date else { return [] }
        if let fault = UnixSecondsCheck.finding(.staleDate, date, now: now) { return [fault] }
        if event == .end {
            return [.warning(.staleDate, .staleDateIgnored, "means nothing once the activity has ended")]
        }
        guard date <= now else { return [] }
        let message = "is in the past; the activity shows its state as outdated at once"
        return [.warning(.staleDate, .staleDatePast, message)]
    }
}
