public import VerbatimJSON

/// Finds dates in a content state, or in attributes, that are not in the form of Swift's `Date`, where nothing but the names of
/// its members tells that they are dates.
///
/// ActivityKit decodes with JSONDecoder's defaults: a `Date` is a number of seconds since 2001. Unix seconds show a date 31
/// years ahead, and text fails to decode. Whether the app has a `Date` there is not known, so these are warnings only. Text
/// that is no date, such as `"yesterday"` or `"14:30"`, is let alone: a member that holds it is a `String` meant for reading.
public enum DateKeyCheck {
    /// As many as are reported of one value.
    public static let limit = 16

    /// What looks like a date in another form, at the first ``limit`` places.
    ///
    /// - Parameters:
    ///   - field: where the value stands.
    ///   - now: Unix seconds.
    public static func findings(in value: JSONValue, _ field: PayloadField, now: Int64) -> [PayloadFinding] {
        guard Self.mayHoldDate(value.verbatim) else { return [] }
        var walk = Walk(field: field, now: now)
        walk.visit(value, path: "", isDate: false)
        return walk.findings
    }

    /// As many digits as a Unix time of these decades has at least, in one run. A moment written with fewer, `1.8e9`, is no
    /// clock's.
    private static let fewestDigits = 9

    /// Whether there is a number or a text anywhere that could be a date. Most states hold none, and are done with then.
    private static func mayHoldDate(_ json: ArraySlice<UInt8>) -> Bool {
        json.withUnsafeBufferPointer { bytes in
            var digits = 0
            for byte in bytes {
                if 0x30...0x39 ~= byte {
                    digits += 1
                    if digits >= Self.fewestDigits { return true }
                } else {
                    if digits == 4 && byte == UInt8(ascii: "-") { return true }
                    digits = 0
                }
            }
            return false
        }
    }

    /// Whether a name speaks of a moment: its last word, or any, is one that moments are called by.
    static func isDateName(_ name: String) -> Bool {
        let words = Self.words(of: name)
        guard let last = words.last else { return false }
        return Self.lastWords.contains(last) || words.contains { Self.words.contains($0) }
            || ["date", "time", "timestamp"].contains { last.hasSuffix($0) }
    }

    private static let words: Set<String> = [
        "date", "dates", "time", "times", "timestamp", "timestamps", "deadline", "eta", "expiry", "expiration",
        "expires",
        "until", "since", "when", "ts", "epoch", "unix",
    ]

    private static let lastWords: Set<String> = [
        "at", "on", "by", "start", "starts", "started", "begin", "begins", "end", "ends", "ended", "finish", "finished",
        "due",
        "arrival", "departure", "created", "updated", "modified", "scheduled", "delivered", "refreshed", "day",
        "expired", "kickoff", "boarding", "takeoff", "landing",
    ]

    /// `estimatedDeliveryTime` and `estimated_delivery_time` in words, in lower case.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = ""
        var wasLower = false
        for character in name {
            if character == "_" || character == "-" || character == " " || character == "." || character.isNumber {
                words.append(word)
                word = ""
                wasLower = false
                continue
            }
            if character.isUppercase && wasLower {
                words.append(word)
                word = ""
            }
            wasLower = character.isLowercase
            word += character.lowercased()
        }
        words.append(word)
        return words.filter { !$0.isEmpty }
    }

    // MARK: -

    private struct Walk {
        let field: PayloadField
        let now: Int64
        var findings: [PayloadFinding] = []

        /// - Parameter isDate: whether the name of the value, or of the array that it stands in, speaks of a moment.
        mutating func visit(_ value: JSONValue, path: String, isDate: Bool) {
            guard self.findings.count < DateKeyCheck.limit else { return }
            switch value.kind {
            case .object:
                for (name, member) in value.members {
                    switch member.kind {
                    case .object, .array:
                        self.visit(member, path: "\(path).\(name)", isDate: DateKeyCheck.isDateName(name))
                    case .number, .string:
                        // The name counts only where the value could be a date: most are not.
                        guard let finding = self.finding(member), DateKeyCheck.isDateName(name) else { continue }
                        self.report(finding, path: "\(path).\(name)")
                    case .boolean, .null:
                        continue
                    }
                }
            case .array:
                for (index, element) in value.elements.enumerated() {
                    self.visit(element, path: "\(path)[\(index)]", isDate: isDate)
                }
            case .number, .string:
                guard isDate, let finding = self.finding(value) else { return }
                self.report(finding, path: path)
            case .boolean, .null:
                return
            }
        }

        private mutating func report(_ finding: PayloadFinding, path: String) {
            guard self.findings.count < DateKeyCheck.limit else { return }
            var finding = finding
            finding.path = path
            self.findings.append(finding)
        }

        private func finding(_ value: JSONValue) -> PayloadFinding? {
            guard value.verbatim.count >= DateKeyCheck.fewestDigits else { return nil }
            if value.kind == .number { return self.finding(ofNumber: value) }
            // A date begins with a digit, behind the quotation mark.
            guard let first = value.verbatim.dropFirst().first, 0x30...0x39 ~= first, let text = value.string else {
                return nil
            }
            guard let moment = CalendarTime(iso8601: text) else {
                let isDate = CalendarTime(iso8601: text, assumingUTC: true) != nil || self.isUnixTime(text)
                return isDate ? self.text(likely: nil) : nil
            }
            return self.text(likely: moment.secondsSinceReferenceDate)
        }

        private func text(likely: String?) -> PayloadFinding {
            let message = "is a text; if it is a Date it must be the number of seconds since 2001"
            return .warning(
                self.field,
                .dateAsText,
                message + (likely.map { ", \($0)" } ?? ""),
                likely: likely,
            )
        }

        private func finding(ofNumber value: JSONValue) -> PayloadFinding? {
            guard let number = value.double, let whole = Int64(exactly: number.rounded(.down)) else { return nil }
            if self.isNear(whole) {
                let moment = CalendarTime(decimal: String(decoding: value.verbatim, as: UTF8.self))
                let likely = (moment ?? CalendarTime(seconds: whole))?.secondsSinceReferenceDate
                return self.number(.dateAsUnixSeconds, "Unix seconds", likely: likely)
            }
            guard self.isNear(whole / 1000) else { return nil }
            let likely = CalendarTime(milliseconds: whole)?.secondsSinceReferenceDate
            return self.number(.dateAsMilliseconds, "milliseconds", likely: likely)
        }

        private func number(_ code: PayloadFinding.Code, _ unit: String, likely: String?) -> PayloadFinding {
            let message = "looks like \(unit); if it is a Date it must be the seconds since 2001"
            return .warning(self.field, code, message + (likely.map { ", \($0)" } ?? ""), likely: likely)
        }

        private func isUnixTime(_ text: String) -> Bool {
            guard text.utf8.count >= 9, let number = Int64(text) else { return false }
            return self.isNear(number) || self.isNear(number / 1000)
        }

        /// Within ten years of now, read as Unix seconds.
        private func isNear(_ seconds: Int64) -> Bool {
            (self.now - UnixSecondsCheck.window...self.now + UnixSecondsCheck.window).contains(seconds)
        }
    }
}
