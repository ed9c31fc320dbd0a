import COpenSSL
public import VerbatimJSON

/// What tells that a request is the same as one before: a SHA-256 over everything that makes it what it is.
public struct RequestDigest: Sendable, Hashable {
    /// The 32 bytes.
    let bytes: [UInt8]

    /// Digests what `write` adds.
    public init(_ write: (inout Input) -> Void) {
        var input = Input()
        write(&input)
        bytes = [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            if EVP_Digest(input.bytes, input.bytes.count, digest.baseAddress, nil, RequestDigest.sha256.pointer, nil)
                != 1
            {
                SHA256(input.bytes, input.bytes.count, digest.baseAddress)
            }
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }

    /// Seeded like every hash, over the bytes at once: one after the other they would cost a hundred times as much.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Found once: OpenSSL 3 would look for it again at every call by name. Never freed.
    private static let sha256 = Method(pointer: EVP_MD_fetch(nil, "SHA256", nil))

    /// Sendable without the compiler's proof: OpenSSL does not change a method after it was fetched.
    private struct Method: @unchecked Sendable {
        let pointer: OpaquePointer?
    }

    /// What is digested: each part with its kind and its length before it, so that parts cannot run together and an
    /// absent one is not an empty one.
    public struct Input {
        fileprivate var bytes: [UInt8] = []

        fileprivate init() {
            // With the array's own header no more than 1032 bytes, up to which malloc has a quick way.
            bytes.reserveCapacity(992)
        }

        private enum Kind: UInt8 {
            case absent, text, number, list, value
        }

        /// Adds a text; nil is a value of its own.
        public mutating func add(_ text: String?) {
            guard let text else { return add(.absent, 0) }
            add(.text, text.utf8.count)
            bytes.append(contentsOf: text.utf8)
        }

        /// Adds a number; nil is a value of its own.
        public mutating func add(_ number: Int64?) {
            guard let number else { return add(.absent, 0) }
            add(.number, 0)
            add(bits: UInt64(bitPattern: number))
        }

        /// Adds texts whose order counts.
        public mutating func add(_ texts: [String]) {
            add(.list, texts.count)
            for text in texts {
                add(text)
            }
        }

        /// Adds a JSON value; nil is a value of its own. White space, the way a string is escaped and the order of an
        /// object's members do not count, since a caller that encodes its message again may choose others; how a number
        /// is written does.
        public mutating func add(_ value: JSONValue?) {
            guard let value else { return add(.absent, 0) }
            add(.value, 0)
            value.appendCanonical(to: &bytes)
        }

        private mutating func add(_ kind: Kind, _ count: Int) {
            bytes.append(kind.rawValue)
            add(bits: UInt64(count))
        }

        private mutating func add(bits: UInt64) {
            withUnsafeBytes(of: bits.bigEndian) { bytes.append(contentsOf: $0) }
        }
    }
}
