import VerbatimJSON

/// A UserSig: the proof, signed with an app's secret key, that a caller is a certain account (Tencent's TLSSigAPIv2).
///
/// The text is base64 in an alphabet of its own around zlib around JSON. Generators differ in key order, blanks and
/// compression, so the signature is recomputed from the decoded values; compressed bytes are never compared.
public struct UserSig: Sendable, Equatable {
    /// The account that it speaks for, 1 to 128 bytes.
    public let identifier: String
    /// The app that it was made for.
    public let sdkAppID: Int64
    /// When it was made, in seconds since 1970 by its maker's clock.
    public let time: Int64
    /// How long it holds after `time`, in seconds.
    public let expire: Int64
    /// What the maker had signed along, as base64 text.
    public let userbuf: String?

    let signature: [UInt8]

    /// Decodes `text` without checking its signature: nothing in the result is to be believed before `verify`.
    ///
    /// - Throws: `.empty` or `.malformed`.
    public init(decoding text: String) throws(UserSigError) {
        guard !text.isEmpty else { throw .empty }
        guard
            let compressed = UserSigBase64.userSig.decode(text),
            let json = UserSigCompression.inflate(compressed),
            let root = try? JSONDocument(parsing: json).root,
            let identifier = root["TLS.identifier"]?.string,
            let sdkAppID = root["TLS.sdkappid"]?.integerOrNumericString,
            let time = root["TLS.time"]?.integerOrNumericString,
            let expire = root["TLS.expire"]?.integerOrNumericString,
            let signature = root["TLS.sig"]?.string.flatMap(UserSigBase64.standard.decode),
            let userbuf = UserSig.userbuf(in: root)
        else { throw .malformed }
        // A line break would let one signed text be read as another account's fields.
        guard (1...128).contains(identifier.utf8.count), !identifier.utf8.contains(UInt8(ascii: "\n")) else {
            throw .malformed
        }
        self.identifier = identifier
        self.sdkAppID = sdkAppID
        self.time = time
        self.expire = expire
        self.userbuf = userbuf
        self.signature = signature
    }

    /// Checks that this was signed with `secretKey` and still holds at `now`, seconds since 1970. A `time` that lies in
    /// the future is no fault: the official verifiers let it pass.
    ///
    /// - Parameters:
    ///   - identifier: the account that the caller claims to be; nil where the claim is the UserSig itself.
    ///   - sdkAppID: the app that the caller names; nil as above.
    /// - Throws: in the order of Tencent's verifiers `.otherApplication`, `.otherIdentifier`, `.expired`,
    ///   `.wrongSignature`.
    public func verify(
        identifier: String? = nil,
        sdkAppID: Int64? = nil,
        secretKey: [UInt8],
        now: Int64,
    ) throws(UserSigError) {
        guard sdkAppID == nil || sdkAppID == self.sdkAppID else { throw .otherApplication }
        guard identifier.map({ UserSig.isSame($0, self.identifier) }) ?? true else { throw .otherIdentifier }
        guard holds(at: now) else { throw .expired }
        let expected = UserSigHMAC.sign(
            UserSig.signedText(
                identifier: self.identifier,
                sdkAppID: self.sdkAppID,
                time: time,
                expire: expire,
                userbuf
            ),
            key: secretKey,
        )
        guard UserSigHMAC.isEqual(signature, expected) else { throw .wrongSignature }
    }

    /// Whether it has not expired.
    func holds(at now: Int64) -> Bool {
        let (end, overflow) = time.addingReportingOverflow(expire)
        // A sum beyond 64 bits is an end that never comes, or one before all time.
        return overflow ? expire > 0 : now <= end
    }

    /// Decodes and checks the `usersig` of a server call against its other parameters.
    ///
    /// - Parameters:
    ///   - secretKey: the app's key as text bytes; its hex digits are not decoded.
    ///   - now: seconds since 1970.
    public static func verify(
        _ signature: String,
        identifier: String,
        sdkAppID: Int64,
        secretKey: [UInt8],
        now: Int64,
    ) throws(UserSigError) {
        try UserSig(decoding: signature)
            .verify(identifier: identifier, sdkAppID: sdkAppID, secretKey: secretKey, now: now)
    }

    /// Makes a UserSig.
    ///
    /// - Parameters:
    ///   - expire: how long it shall hold, in seconds; Tencent's generators say 15,552,000 (180 days).
    ///   - now: seconds since 1970.
    public static func make(
        identifier: String,
        sdkAppID: Int64,
        secretKey: [UInt8],
        expire: Int64 = 15_552_000,
        now: Int64,
    ) -> String {
        let signature = UserSigHMAC.sign(
            signedText(identifier: identifier, sdkAppID: sdkAppID, time: now, expire: expire, nil),
            key: secretKey,
        )
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("TLS.ver", "2.0")
        writer.member("TLS.identifier", identifier)
        writer.member("TLS.sdkappid", sdkAppID)
        writer.member("TLS.expire", expire)
        writer.member("TLS.time", now)
        writer.member("TLS.sig", UserSigBase64.standard.encode(signature))
        writer.endObject()
        return UserSigBase64.userSig.encode(UserSigCompression.deflate(writer.bytes))
    }

    // MARK: -

    /// The outer nil means malformed: not a string, or not base64 (a line break in it could forge other lines).
    private static func userbuf(in root: JSONValue) -> String?? {
        guard let value = root["TLS.userbuf"] else { return .some(nil) }
        guard let text = value.string, UserSigBase64.standard.decode(text) != nil else { return nil }
        return text
    }

    private static func signedText(
        identifier: String,
        sdkAppID: Int64,
        time: Int64,
        expire: Int64,
        _ userbuf: String?,
    ) -> [UInt8] {
        var text = "TLS.identifier:\(identifier)\nTLS.sdkappid:\(sdkAppID)\nTLS.time:\(time)\nTLS.expire:\(expire)\n"
        if let userbuf {
            text += "TLS.userbuf:\(userbuf)\n"
        }
        return Array(text.utf8)
    }

    /// Swift's `==` holds canonically equivalent texts for equal; accounts are bytes.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }
}
