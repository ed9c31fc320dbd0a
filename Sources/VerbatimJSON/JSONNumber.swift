/// The grammar of numbers (RFC 8259 section 6), and their exact value.
enum JSONNumber {
    /// Where a number's text breaks the grammar.
    struct Fault: Error {
        let offset: Int
    }

    /// The end of the number at the start of a text, or the place where it stops being one.
    static func scan(_ text: ArraySlice<UInt8>) -> Result<Int, Fault> {
        var offset = text.startIndex
        func isDigit() -> Bool {
            offset < text.endIndex && UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[offset]
        }
        func isOne(of first: UInt8, _ second: UInt8) -> Bool {
            offset < text.endIndex && (text[offset] == first || text[offset] == second)
        }
        if isOne(of: UInt8(ascii: "-"), UInt8(ascii: "-")) { offset += 1 }
        guard isDigit() else { return .failure(Fault(offset: offset)) }
        if text[offset] == UInt8(ascii: "0") {
            offset += 1
            if isDigit() { return .failure(Fault(offset: offset)) }
        } else {
            while isDigit() { offset += 1 }
        }
        if isOne(of: UInt8(ascii: "."), UInt8(ascii: ".")) {
            offset += 1
            guard isDigit() else { return .failure(Fault(offset: offset)) }
            while isDigit() { offset += 1 }
        }
        if isOne(of: UInt8(ascii: "e"), UInt8(ascii: "E")) {
            offset += 1
            if isOne(of: UInt8(ascii: "+"), UInt8(ascii: "-")) { offset += 1 }
            guard isDigit() else { return .failure(Fault(offset: offset)) }
            while isDigit() { offset += 1 }
        }
        return .success(offset)
    }

    /// The value of a number's text if it is integral and fits, whatever way it is written; nil otherwise.
    ///
    /// Exact: never through a floating-point number. The text must have passed `scan` as a whole.
    static func integer(_ text: ArraySlice<UInt8>) -> Int64? {
        plainInteger(text) ?? exactInteger(text)
    }

    /// The value of digits alone, as nearly every integer is written; nil for any other text, and for longer ones.
    private static func plainInteger(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text.count <= 18 else { return nil }
        var value: Int64 = 0
        for byte in text {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }

    private static func exactInteger(_ text: ArraySlice<UInt8>) -> Int64? {
        let mantissa = text.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
        let isNegative = mantissa.first == UInt8(ascii: "-")
        let digits = mantissa.filter { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard let firstDigit = digits.firstIndex(where: { $0 != UInt8(ascii: "0") }),
            let lastDigit = digits.lastIndex(where: { $0 != UInt8(ascii: "0") })
        else { return 0 }
        let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.endIndex - 1
        let decimals = mantissa.endIndex - 1 - point
        let trailingZeros = digits.count - 1 - lastDigit
        let scale = Self.exponent(text[mantissa.endIndex...]) - decimals + trailingZeros
        // 2^63 has 19 digits; a fraction remains if the scale is negative.
        guard scale >= 0, lastDigit - firstDigit + 1 + scale <= 19 else { return nil }
        var value: Int64 = 0
        for position in 0..<lastDigit - firstDigit + 1 + scale {
            let index = firstDigit + position
            let digit = index <= lastDigit ? Int64(digits[index] - UInt8(ascii: "0")) : 0
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) =
                isNegative
                ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflow || sumOverflow { return nil }
            value = sum
        }
        return value
    }

    /// The exponent of the part from `e` on, held within a range wider than any text has digits.
    private static func exponent(_ part: ArraySlice<UInt8>) -> Int {
        let limit = 1 << 40
        var exponent = 0
        for byte in part where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
            exponent = min(exponent * 10 + Int(byte - UInt8(ascii: "0")), limit)
        }
        return part.dropFirst().first == UInt8(ascii: "-") ? -exponent : exponent
    }
}
