/// A moment in the three forms that Live Activities mix: Unix seconds, seconds since 2001 as Swift's `Date` is coded, and
/// ISO 8601. Leap seconds do not count in any of them.
public struct CalendarTime: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// 2001-01-01T00:00:00Z in Unix seconds: where Swift's `Date` counts from.
    public static let referenceDate: Int64 = 978_307_200

    /// Whole seconds since 1970, the earlier one where there is a fraction.
    public let seconds: Int64
    /// What comes on top, 0 to 999,999,999.
    public let nanoseconds: Int64

    /// Some 30,000 years on both sides: what is beyond is no date that anyone means.
    private static let range: ClosedRange<Int64> = -1_000_000_000_000...1_000_000_000_000

    /// Makes a moment from Unix seconds.
    ///
    /// - Returns: nil more than some 30,000 years away.
    public init?(seconds: Int64, nanoseconds: Int64 = 0) {
        guard Self.range.contains(seconds), 0..<1_000_000_000 ~= nanoseconds else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Makes a moment from Unix milliseconds.
    public init?(milliseconds: Int64) {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let isEarlier = remainder < 0
        self.init(
            seconds: quotient - (isEarlier ? 1 : 0),
            nanoseconds: (remainder + (isEarlier ? 1000 : 0)) * 1_000_000,
        )
    }

    /// What seconds count from.
    public enum Origin: Sendable {
        /// 1970-01-01T00:00:00Z, as APNs' own dates.
        case unix
        /// 2001-01-01T00:00:00Z, as Swift's `Date`.
        case reference
    }

    /// Reads seconds with a fraction of at most nine digits, such as `1796007172` or `817699972.25`.
    public init?(decimal text: String, since origin: Origin = .unix) {
        let origin = origin == .unix ? 0 : Self.referenceDate
        let isNegative = text.hasPrefix("-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(separator: ".", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let whole = Self.number(first, digits: 1...13) else {
            return nil
        }
        var nanoseconds: Int64 = 0
        if parts.count == 2 {
            guard let fraction = Self.fraction(parts[1]) else { return nil }
            nanoseconds = fraction
        }
        if isNegative && nanoseconds > 0 {
            self.init(seconds: origin - whole - 1, nanoseconds: 1_000_000_000 - nanoseconds)
        } else {
            self.init(seconds: origin + (isNegative ? -whole : whole), nanoseconds: nanoseconds)
        }
    }

    /// Reads ISO 8601 in its extended form: `2026-11-30T14:52:52Z`, `2026-11-30T14:52:52.250+08:00`; also with a space for
    /// the `T`, without seconds, and a date alone, which is its midnight in UTC.
    ///
    /// - Parameter assumingUTC: whether a time without `Z` or offset is in UTC; otherwise it is no moment, since nobody
    ///   knows in which zone it was meant.
    public init?(iso8601 text: String, assumingUTC: Bool = false) {
        let text = text.uppercased()
        let day = text.prefix { $0 != "T" && $0 != " " }
        let fields = day.split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 3, let year = Self.number(fields[0], digits: 4...4),
            let month = Self.number(fields[1], digits: 2...2), 1...12 ~= month,
            let number = Self.number(fields[2], digits: 2...2), 1...Self.daysIn(month, of: year) ~= number
        else { return nil }
        let midnight = Self.days(year: year, month: month, day: number) * 86_400
        if day.endIndex == text.endIndex {
            self.init(seconds: midnight)
            return
        }
        let rest = text[text.index(after: day.endIndex)...]
        let clock = rest.prefix { $0.isNumber || $0 == ":" || $0 == "." }
        guard let time = Self.timeOfDay(clock),
            let offset = Self.offset(rest[clock.endIndex...], assumingUTC: assumingUTC)
        else { return nil }
        self.init(seconds: midnight + time.seconds - offset, nanoseconds: time.nanoseconds)
    }

    // MARK: - Forms

    /// Unix seconds, as `timestamp`, `stale-date`, `dismissal-date` and `apns-expiration` want them (those without a
    /// fraction).
    public var unixSeconds: String {
        Self.decimal(self.seconds, self.nanoseconds)
    }

    /// Seconds since 2001: what a `Date` in a content state or in attributes wants.
    public var secondsSinceReferenceDate: String {
        Self.decimal(self.seconds - Self.referenceDate, self.nanoseconds)
    }

    /// ISO 8601 in UTC.
    public var iso8601: String {
        let day = Self.floorDivide(self.seconds, 86_400)
        let second = self.seconds - day * 86_400
        let date = Self.date(ofDay: day)
        let clock = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        let year = date.year < 0 ? "-" + Self.padded(-date.year, 4) : Self.padded(date.year, 4)
        return "\(year)-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))T\(clock)"
            + Self.fraction(self.nanoseconds) + "Z"
    }

    /// ISO 8601 in UTC.
    public var description: String {
        self.iso8601
    }

    /// The earlier one first.
    public static func < (one: CalendarTime, other: CalendarTime) -> Bool {
        (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
    }

    // MARK: - Reading

    private static func timeOfDay(_ text: Substring) -> (seconds: Int64, nanoseconds: Int64)? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count, let hour = Self.number(parts[0], digits: 2...2), hour < 24,
            let minute = Self.number(parts[1], digits: 2...2), minute < 60
        else { return nil }
        guard parts.count == 3 else { return (hour * 3600 + minute * 60, 0) }
        let second = parts[2].split(separator: ".", omittingEmptySubsequences: false)
        guard second.count <= 2, let whole = Self.number(second[0], digits: 2...2), whole < 60 else { return nil }
        guard second.count == 2 else { return (hour * 3600 + minute * 60 + whole, 0) }
        guard let fraction = Self.fraction(second[1]) else { return nil }
        return (hour * 3600 + minute * 60 + whole, fraction)
    }

    /// Seconds east of Greenwich of `Z`, `+08:00`, `+0800` or `+08`.
    private static func offset(_ text: Substring, assumingUTC: Bool) -> Int64? {
        if text.isEmpty { return assumingUTC ? 0 : nil }
        if text == "Z" { return 0 }
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.count == 2 || digits.count == 4, let hours = Self.number(digits.prefix(2), digits: 2...2),
            hours < 24
        else { return nil }
        let rest = digits.dropFirst(2)
        guard let minutes = rest.isEmpty ? 0 : Self.number(rest, digits: 2...2), minutes < 60 else { return nil }
        return (sign == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private static func number(_ text: some StringProtocol, digits: ClosedRange<Int>) -> Int64? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int64(text)
    }

    /// Nanoseconds of the digits behind a point.
    private static func fraction(_ text: Substring) -> Int64? {
        guard let number = Self.number(text, digits: 1...9) else { return nil }
        return (text.utf8.count..<9).reduce(number) { value, _ in value * 10 }
    }

    // MARK: - Writing

    private static func decimal(_ seconds: Int64, _ nanoseconds: Int64) -> String {
        if seconds < 0 && nanoseconds > 0 {
            return "-\(-(seconds + 1))" + Self.fraction(1_000_000_000 - nanoseconds)
        }
        return "\(seconds)" + Self.fraction(nanoseconds)
    }

    private static func fraction(_ nanoseconds: Int64) -> String {
        guard nanoseconds > 0 else { return "" }
        var digits = Self.padded(nanoseconds, 9)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "." + digits
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    // MARK: - The Gregorian calendar, in years that begin in March so that the leap day is their last

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// Days since 1970.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let monthsSinceMarch = (month + 9) % 12
        let era = Self.floorDivide(marchYear, 400)
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * monthsSinceMarch + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = Self.floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthsSinceMarch = (5 * dayOfYear + 2) / 153
        let month = monthsSinceMarch < 10 ? monthsSinceMarch + 3 : monthsSinceMarch - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthsSinceMarch + 2) / 5 + 1)
    }

    private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        let next = month == 12 ? (year: year + 1, month: 1) : (year: year, month: month + 1)
        return Self.days(year: next.year, month: next.month, day: 1) - Self.days(year: year, month: month, day: 1)
    }
}
