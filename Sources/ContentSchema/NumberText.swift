import VerbatimJSON

/// The text of a JSON number, judged as `JSONDecoder` of swift-foundation judges it: a type takes it or does not.
///
/// swift-foundation goes by way of a double and of its `Decimal` for integers that are not written as plain digits, and
/// so takes a few numbers that are not quite whole (`9007199254740993.5` for an Int). The same steps are taken here.
struct NumberText {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The number as an integer within a range; nil if `JSONDecoder` refuses it.
    func integer(in range: (lower: Int128, upper: UInt128)) -> WholeNumber? {
        if let whole = WholeNumber(digits: self.text) {
            if whole.isWithin(range) { return whole }
        }
        guard let double = Double(self.text), let exact = WholeNumber(exactly: double), exact.isWithin(range) else {
            return nil
        }
        if double.magnitude < 0x1p53 { return exact }
        guard let decimal = DecimalNumber(self.text), let whole = decimal.wholeNumber, whole.isWithin(range),
            // The sign is put on last, which the lowest number of a type does not survive.
            whole.magnitude <= range.upper
        else { return nil }
        return whole
    }

    /// The number as a double; nil if it is too large or too small for one.
    var double: Double? {
        guard let value = Double(self.text), value.isFinite, value != 0 || self.isZero else { return nil }
        return value
    }

    /// The number as a float; nil if it is too large or too small for one.
    var float: Float? {
        guard let value = Float(self.text), value.isFinite, value != 0 || self.isZero else { return nil }
        return value
    }

    /// Whether the text says zero, rather than something that is rounded to it.
    ///
    /// swift-foundation looks at four characters at a time up to the exponent, but at the one to three that remain from the
    /// back, and so refuses `0e1`, whose exponent it meets first. That is kept: the phone would refuse it as well.
    private var isZero: Bool {
        let bytes = Array(self.text.utf8)
        let whole = bytes.count / 4 * 4
        for byte in bytes[..<whole] + bytes[whole...].reversed() {
            switch byte {
            case UInt8(ascii: "1")...UInt8(ascii: "9"): return false
            case UInt8(ascii: "e"), UInt8(ascii: "E"): return true
            default: continue
            }
        }
        return true
    }
}

/// A whole number of any width that Swift has.
struct WholeNumber: Equatable {
    let isNegative: Bool
    let magnitude: UInt128

    init(isNegative: Bool, magnitude: UInt128) {
        self.isNegative = isNegative && magnitude != 0
        self.magnitude = magnitude
    }

    /// A number that is written as digits, with or without a minus sign; nil for anything else.
    init?(digits text: String) {
        guard let magnitude = UInt128(text.hasPrefix("-") ? text.dropFirst() : text[...]) else { return nil }
        self.init(isNegative: text.hasPrefix("-"), magnitude: magnitude)
    }

    init?(exactly double: Double) {
        guard let magnitude = UInt128(exactly: double.magnitude) else { return nil }
        self.init(isNegative: double < 0, magnitude: magnitude)
    }

    /// nil beyond what `Int128` holds.
    var int128: Int128? {
        guard let magnitude = Int128(exactly: self.magnitude) else { return nil }
        return self.isNegative ? -magnitude : magnitude
    }

    func isWithin(_ range: (lower: Int128, upper: UInt128)) -> Bool {
        self.isNegative ? self.magnitude <= range.lower.magnitude && range.lower < 0 : self.magnitude <= range.upper
    }
}

extension WholeNumber: Comparable {
    static func < (left: WholeNumber, right: WholeNumber) -> Bool {
        switch (left.isNegative, right.isNegative) {
        case (true, true): left.magnitude > right.magnitude
        case (false, false): left.magnitude < right.magnitude
        case (true, false): true
        case (false, true): false
        }
    }
}

/// A number as swift-foundation's `Decimal` reads it: 128 bits of digits and an exponent of 8 bits. Digits beyond that are
/// dropped.
struct DecimalNumber {
    private var isNegative = false
    private var digits: UInt128 = 0
    private var exponent = 0

    /// - Parameter text: a JSON number. nil if it is too large or has too many digits.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        if rest.first == UInt8(ascii: "-") {
            self.isNegative = true
            rest = rest.dropFirst()
        }
        var isFull = false
        while let digit = Self.digit(rest.first) {
            rest = rest.dropFirst()
            if !isFull, self.append(digit) { continue }
            isFull = true
            guard self.exponent < Int(Int8.max) else { return nil }
            self.exponent += 1
        }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            while let digit = Self.digit(rest.first) {
                rest = rest.dropFirst()
                guard !isFull, self.append(digit) else {
                    isFull = true
                    continue
                }
                guard self.exponent > Int(Int8.min) else { return nil }
                self.exponent -= 1
            }
        }
        guard rest.popFirst() != nil else { return }
        let isDown = rest.first == UInt8(ascii: "-")
        if isDown || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        var power = 0
        while let digit = Self.digit(rest.first) {
            rest = rest.dropFirst()
            power = power * 10 + Int(digit)
            guard power <= 2 * Int(Int8.max) else { return nil }
        }
        self.exponent += isDown ? -power : power
        guard Int(Int8.min)...Int(Int8.max) ~= self.exponent else { return nil }
    }

    /// The number divided by a power of ten, less some seconds, in plain digits.
    func shifted(by power: Int, minus seconds: Int64) -> String {
        var places = power - self.exponent
        guard var digits = Int128(exactly: self.digits) else { return "" }
        if self.isNegative { digits = -digits }
        var scale: Int128 = 1
        for _ in 0..<abs(places) {
            let (product, overflow) = scale.multipliedReportingOverflow(by: 10)
            guard !overflow else { return "" }
            scale = product
        }
        if places < 0 {
            let (product, overflow) = digits.multipliedReportingOverflow(by: scale)
            guard !overflow else { return "" }
            (digits, scale, places) = (product, 1, 0)
        }
        let (offset, overflow) = scale.multipliedReportingOverflow(by: Int128(seconds))
        let (difference, differenceOverflow) = digits.subtractingReportingOverflow(offset)
        guard !overflow, !differenceOverflow else { return "" }
        let whole = difference.magnitude / scale.magnitude
        var fraction = String(difference.magnitude % scale.magnitude)
        fraction = String(repeating: "0", count: max(0, places - fraction.count)) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return (difference < 0 ? "-" : "") + String(whole) + (fraction.isEmpty ? "" : "." + fraction)
    }

    private static func digit(_ byte: UInt8?) -> UInt128? {
        guard let byte, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        return UInt128(byte - UInt8(ascii: "0"))
    }

    private mutating func append(_ digit: UInt128) -> Bool {
        let (product, overflow) = self.digits.multipliedReportingOverflow(by: 10)
        let (sum, sumOverflow) = product.addingReportingOverflow(digit)
        guard !overflow, !sumOverflow else { return false }
        self.digits = sum
        return true
    }

    /// The number without what stands behind the point; nil if its digits do not fit into 64 bits.
    var wholeNumber: WholeNumber? {
        var digits = self.digits
        var exponent = self.exponent
        while digits != 0, digits % 10 == 0, exponent < Int(Int8.max) {
            digits /= 10
            exponent += 1
        }
        guard var value = UInt64(exactly: digits) else { return nil }
        guard value != 0 else { return WholeNumber(isNegative: false, magnitude: 0) }
        for _ in 0..<abs(exponent) {
            if exponent < 0 {
                value /= 10
                continue
            }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            value = product
        }
        return WholeNumber(isNegative: self.isNegative, magnitude: UInt128(value))
    }
}

extension JSONValue {
    /// The text of a number; nil for anything else.
    var numberText: String? {
        self.kind == .number ? String(decoding: self.verbatim, as: UTF8.self) : nil
    }
}
