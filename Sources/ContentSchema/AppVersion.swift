/// A version as apps carry it, such as `2.10.1`; ordered part by part as numbers.
public struct AppVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// As it was given.
    public let text: String
    private let parts: [UInt64]

    /// Reads the numbers at the start of each part between dots: `2.10.1-beta` is 2, 10, 1. Text without a digit in front is no
    /// version.
    ///
    /// - Parameter text: `CFBundleShortVersionString`, as the phone reports it.
    public init?(_ text: String) {
        var parts: [UInt64] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            let digits = part.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty else { break }
            parts.append(UInt64(digits) ?? .max)
            if digits.count < part.count { break }
        }
        guard !parts.isEmpty else { return nil }
        while parts.count > 1, parts.last == 0 { parts.removeLast() }
        self.text = text
        self.parts = parts
    }

    /// As it was given.
    public var description: String { self.text }

    /// `2.10` and `2.10.0` are the same.
    public static func == (left: AppVersion, right: AppVersion) -> Bool {
        left.parts == right.parts
    }

    /// `2.9` comes before `2.10`.
    public static func < (left: AppVersion, right: AppVersion) -> Bool {
        left.parts.lexicographicallyPrecedes(right.parts)
    }

    /// By what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.parts)
    }
}
