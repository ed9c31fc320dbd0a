/// The code of a message as callers get it, of the form `C3F8A-C3863ED4-334AD4F1`. Nobody can guess one.
enum MessageCode {
    static func make(_ numbers: inout some RandomNumberGenerator) -> String {
        let parts =
            [hexadecimal(numbers.next(), digits: 5)] + (0..<2).map { _ in hexadecimal(numbers.next(), digits: 8) }
        return parts.joined(separator: "-")
    }

    private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text.suffix(digits)
    }
}
