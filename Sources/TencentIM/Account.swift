/// The limits of an account's name. Tencent documents 32 printable ASCII characters; deployments use more, so only the
/// bytes are counted.
enum Account {
    /// In words, for an ErrorInfo.
    static let limits = "1 to 128 bytes"

    /// Whether `text` can be an account.
    static func isValid(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
    }
}
