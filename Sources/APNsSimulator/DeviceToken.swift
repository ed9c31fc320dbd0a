/// A device, activity or start token in lower-case hexadecimal.
struct DeviceToken: Hashable {
    let hexadecimal: String

    /// - Parameter text: an even number of hexadecimal digits for 32 to 256 bytes. Apple says to assume no size; 32 bytes
    ///   is what devices have, activities have up to 100 and more.
    /// - Returns: nil for anything else.
    init?(_ text: some StringProtocol) {
        let count = text.utf8.count
        guard
            (64...512).contains(count), count.isMultiple(of: 2),
            text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
        else { return nil }
        self.hexadecimal = text.lowercased()
    }
}
