/// A version of iOS or iPadOS, as far as pushes depend on it.
public struct IOSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number before the first point.
    public let major: Int
    /// The number behind it.
    public let minor: Int

    /// The first with push-to-start tokens.
    public static let pushToStart = IOSVersion(major: 17, minor: 2)
    /// The first with broadcast channels and `input-push-token`.
    public static let startInputs = IOSVersion(major: 18, minor: 0)

    /// Makes a version.
    public init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Reads what `UIDevice.systemVersion` says, such as `17.4.1`, also with `iOS` or `iPadOS` before it.
    ///
    /// - Returns: nil for a text without a number.
    public init?(parsing text: String) {
        let number = text.drop { !$0.isNumber }
        let parts = number.prefix { $0.isNumber || $0 == "." }.split(separator: ".").map { Int($0) }
        guard let first = parts.first, let major = first else { return nil }
        self.init(major: major, minor: (parts.dropFirst().first ?? 0) ?? 0)
    }

    /// By major, then minor number.
    public static func < (one: IOSVersion, other: IOSVersion) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }

    /// Such as `17.4`.
    public var description: String {
        "\(self.major).\(self.minor)"
    }
}
