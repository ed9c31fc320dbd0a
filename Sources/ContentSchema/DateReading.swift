import VerbatimJSON

/// Tells seconds since 2001, which a field of type Date holds, from what callers send by mistake.
struct DateReading {
    /// 2001-01-01T00:00:00Z in Unix seconds.
    static let referenceDate: Int64 = 978_307_200
    /// Ten years in seconds: a date that somebody puts into a Live Activity lies within that of now.
    private static let window: Double = 315_576_000

    /// Unix seconds by the clock.
    let now: Int64

    /// What a number looks like, and the right one; nil if nothing speaks against seconds since 2001.
    func misreading(of text: String) -> (form: MisreadDate.Form, right: String)? {
        guard let value = Double(text), let decimal = DecimalNumber(text) else { return nil }
        if self.isNear(value, self.now) {
            return (.unixSeconds, decimal.shifted(by: 0, minus: Self.referenceDate))
        }
        for power in [3, 6, 9] {
            let seconds = value / (power == 3 ? 1e3 : power == 6 ? 1e6 : 1e9)
            if self.isNear(seconds, self.now) {
                return (.unixMilliseconds, decimal.shifted(by: power, minus: Self.referenceDate))
            }
            if self.isNear(seconds, self.now - Self.referenceDate) {
                return (.milliseconds, decimal.shifted(by: power, minus: 0))
            }
        }
        return nil
    }

    private func isNear(_ value: Double, _ other: Int64) -> Bool {
        abs(value - Double(other)) <= Self.window
    }

    /// The number that a text in place of a date is likely meant to be: a number in quotation marks, or ISO 8601.
    func number(of text: String) -> String? {
        if Double(text) != nil, text.utf8.allSatisfy({ $0.isHexadecimalDigit || $0 == 0x2E || $0 == 0x2D }) {
            return self.misreading(of: text)?.right ?? text
        }
        return ISO8601Text(text).flatMap { DecimalNumber($0.unixSeconds)?.shifted(by: 0, minus: Self.referenceDate) }
    }
}

/// A point in time as ISO 8601 and RFC 3339 write it; without a zone it is taken for UTC, without a time for midnight.
struct ISO8601Text {
    /// With the fraction that the text has.
    let unixSeconds: String

    init?(_ text: String) {
        var scanner = DigitScanner(text)
        guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
            let day = scanner.number(2), 1...12 ~= month, 1...31 ~= day
        else { return nil }
        var seconds = Self.days(year: year, month: month, day: day) * 86_400
        var fraction = ""
        if scanner.take("T") || scanner.take("t") || scanner.take(" ") {
            guard let hour = scanner.number(2), scanner.take(":"), let minute = scanner.number(2), hour < 25,
                minute < 60
            else { return nil }
            seconds += hour * 3600 + minute * 60
            if scanner.take(":") {
                guard let second = scanner.number(2), second < 61 else { return nil }
                seconds += second
                if scanner.take(".") || scanner.take(",") { fraction = scanner.digits() }
            }
            if scanner.take("+") {
                guard let offset = scanner.offset() else { return nil }
                seconds -= offset
            } else if scanner.take("-") {
                guard let offset = scanner.offset() else { return nil }
                seconds += offset
            } else if !scanner.take("Z") {
                _ = scanner.take("z")
            }
        }
        guard scanner.isAtEnd else { return nil }
        self.unixSeconds = fraction.isEmpty ? "\(seconds)" : "\(seconds).\(fraction)"
    }

    /// Days since 1970-01-01 in the Gregorian calendar.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        // Years that begin in March, so that the leap day is the last one.
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

private struct DigitScanner {
    private var rest: Substring

    init(_ text: String) {
        self.rest = text[...]
    }

    var isAtEnd: Bool { self.rest.isEmpty }

    mutating func take(_ character: Character) -> Bool {
        guard self.rest.first == character else { return false }
        self.rest = self.rest.dropFirst()
        return true
    }

    mutating func number(_ count: Int) -> Int? {
        let digits = self.rest.utf8.prefix(count)
        guard digits.count == count, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return nil
        }
        self.rest = self.rest[digits.endIndex...]
        return Int(Substring(digits))
    }

    mutating func digits() -> String {
        let digits = self.rest.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        self.rest = self.rest[digits.endIndex...]
        return String(Substring(digits))
    }

    /// `02:00`, `0200` or `02` in seconds.
    mutating func offset() -> Int? {
        guard let hours = self.number(2) else { return nil }
        let minutes = self.take(":") ? self.number(2) : self.number(2) ?? 0
        return minutes.map { hours * 3600 + $0 * 60 }
    }
}
