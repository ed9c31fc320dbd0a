/// A device, activity or push-to-start token. Who has it can push to the phone, so it shows itself only as its fingerprint.
public struct PushToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The sizes that are accepted, in bytes. Apple says to assume none; those seen are 32 to 100.
    public static let sizes = 32...256

    /// The token itself: for storage only.
    public let bytes: [UInt8]

    /// Takes a token as bytes.
    ///
    /// - Throws: `wrongSize` outside `sizes`.
    public init(bytes: [UInt8]) throws(PushTokenError) {
        guard Self.sizes.contains(bytes.count) else { throw .wrongSize(bytes: bytes.count) }
        self.bytes = bytes
    }

    /// Reads a token as an app reports it.
    ///
    /// `<`, `>` and white space are dropped, which also reads the `<0011aabb ...>` that older apps log. What is all
    /// hexadecimal digits then, of either case, is hexadecimal; anything else is base64 in the standard alphabet with its
    /// padding, as `Data.base64EncodedString()` writes it. The URL-safe alphabet is refused.
    ///
    /// - Throws: `oddLength` for an odd number of hexadecimal digits, which is a cut token and never tried as base64.
    public init(parsing text: String) throws(PushTokenError) {
        let characters = text.utf8.filter { !Self.isDropped($0) }
        guard !characters.isEmpty else { throw .empty }
        if let digits = Hexadecimal.values(of: characters) {
            guard digits.count.isMultiple(of: 2) else { throw .oddLength }
            try self.init(bytes: stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
        } else {
            guard let bytes = Base64.decode(characters) else { throw .malformed }
            try self.init(bytes: bytes)
        }
    }

    /// Reveals the token in lower-case hexadecimal: only for the `:path` of a request to APNs.
    public var hexadecimal: String {
        Hexadecimal.encode(self.bytes)
    }

    /// The first 12 lower-case hexadecimal digits of the SHA-256 of the token's bytes: what logs, views and answers show,
    /// and what the SQL function `token_fingerprint` finds again.
    public var fingerprint: String {
        Hexadecimal.encode(Digest.sha256(self.bytes).prefix(6))
    }

    /// The fingerprint.
    public var description: String {
        self.fingerprint
    }

    /// The fingerprint.
    public var debugDescription: String {
        self.fingerprint
    }

    /// What SQL calls space, and the brackets.
    private static func isDropped(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09...0x0D, UInt8(ascii: "<"), UInt8(ascii: ">"): true
        default: false
        }
    }
}

/// Why a text is no token.
public enum PushTokenError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is nothing but brackets and white space.
    case empty
    /// Hexadecimal with half a byte at its end: a part is missing.
    case oddLength
    /// Neither hexadecimal nor base64.
    case malformed
    /// Shorter or longer than any token.
    case wrongSize(bytes: Int)

    /// The reason in words, without any of the token.
    public var description: String {
        switch self {
        case .empty: "the token is empty"
        case .oddLength: "the token has an odd number of hexadecimal digits"
        case .malformed: "the token is neither hexadecimal nor base64"
        case .wrongSize(let bytes):
            "a token has \(PushToken.sizes.lowerBound) to \(PushToken.sizes.upperBound) bytes, not \(bytes)"
        }
    }
}
