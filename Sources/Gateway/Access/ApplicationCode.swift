/// An application code of Pushwoosh's API, as configured with `livepush app code`.
public struct ApplicationCode: Sendable, Equatable {
    /// The code, 1 to 64 of `[A-Za-z0-9-]`.
    public var code: String
    /// The app that it means.
    public var sdkAppID: Int64
    /// The certificate of the tokens that phones register under the code.
    public var businessID: Int64

    /// Makes a code.
    public init(code: String, sdkAppID: Int64, businessID: Int64) {
        self.code = code
        self.sdkAppID = sdkAppID
        self.businessID = businessID
    }

    /// Whether a code has the form that one must have.
    public static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
