/// Integers in decimal digits, without the text of its own that `String(value)` is.
package enum DecimalText {
    /// The longest has so many bytes.
    package static let maximumCount = 20

    /// Writes a number at the start of `output`, which has room for ``maximumCount`` bytes.
    ///
    /// - Returns: how many it took.
    @discardableResult
    package static func write(_ value: Int64, to output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var digits = value.magnitude
        var count = value < 0 ? 1 : 0
        repeat {
            count += 1
            digits /= 10
        } while digits > 0
        digits = value.magnitude
        var place = count
        repeat {
            place -= 1
            output[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digits % 10)
            digits /= 10
        } while digits > 0
        if value < 0 { output[0] = UInt8(ascii: "-") }
        return count
    }

    /// Numbers with a separator between each two.
    package static func joined(_ first: Int64, _ second: Int64, _ third: Int64, by separator: Unicode.Scalar) -> String
    {
        let separator = UInt8(ascii: separator)
        return String(unsafeUninitializedCapacity: 3 * maximumCount + 2) { output in
            var count = write(first, to: output)
            for number in [second, third] {
                output[count] = separator
                count += 1
                count += write(number, to: UnsafeMutableBufferPointer(rebasing: output[count...]))
            }
            return count
        }
    }
}
