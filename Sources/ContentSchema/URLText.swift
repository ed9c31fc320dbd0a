/// Whether Foundation's `URL` accepts a text. It encodes what is not allowed in most places, and so refuses little: an empty
/// text, a malformed scheme, port or address in brackets, and a host that is no domain name.
struct URLText {
    private let bytes: [UInt8]

    static func isAccepted(_ text: String) -> Bool {
        URLText(bytes: Array(text.utf8)).isAccepted
    }

    private var isAccepted: Bool {
        guard !self.bytes.isEmpty else { return false }
        guard let scheme = self.scheme else { return self.hasAcceptedAuthority(in: self.bytes[...], scheme: "") }
        guard Self.isScheme(scheme) else { return false }
        return self.hasAcceptedAuthority(
            in: self.bytes[(scheme.endIndex + 1)...],
            scheme: String(decoding: scheme, as: UTF8.self).lowercased(),
        )
    }

    /// What stands before the first colon, unless something comes earlier that no scheme can hold.
    private var scheme: ArraySlice<UInt8>? {
        for (index, byte) in self.bytes.enumerated() {
            switch byte {
            case UInt8(ascii: ":"): return index == 0 ? nil : self.bytes[..<index]
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "["), UInt8(ascii: "]"),
                UInt8(ascii: "@"):
                return nil
            default: continue
            }
        }
        return nil
    }

    private static func isScheme(_ scheme: ArraySlice<UInt8>) -> Bool {
        guard let first = scheme.first, first.isLetter else { return false }
        return scheme.allSatisfy { byte in
            byte.isLetter || byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
    }

    private func hasAcceptedAuthority(in rest: ArraySlice<UInt8>, scheme: String) -> Bool {
        guard rest.starts(with: "//".utf8) else { return true }
        let authority = rest.dropFirst(2).prefix { byte in
            byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
        }
        guard !authority.isEmpty else { return true }
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        if host.first == UInt8(ascii: "["), let end = host.firstIndex(of: UInt8(ascii: "]")) {
            let behind = host[(end + 1)...]
            guard behind.isEmpty || behind.first == UInt8(ascii: ":") else { return false }
            return Self.isPort(behind.dropFirst(), scheme: scheme) && Self.isAddress(host[(host.startIndex + 1)..<end])
        }
        guard let colon = host.firstIndex(of: UInt8(ascii: ":")) else { return Self.isHost(host, scheme: scheme) }
        return Self.isPort(host[(colon + 1)...], scheme: scheme) && Self.isHost(host[..<colon], scheme: scheme)
    }

    private static func isPort(_ port: ArraySlice<UInt8>, scheme: String) -> Bool {
        port.allSatisfy(\.isDigit) || scheme == "addressbook"
    }

    /// The inside of brackets: an address, and behind `%` a zone, which is encoded where needed.
    private static func isAddress(_ address: ArraySlice<UInt8>) -> Bool {
        address.contains(UInt8(ascii: "%"))
            || address.allSatisfy { $0.isNameCharacter || $0 == UInt8(ascii: ":") }
    }

    /// Schemes whose host is no domain name: anything is encoded.
    private static let encodedHostSchemes: Set<String> = [
        "tel", "telemergencycall", "telprompt", "callto", "facetime", "facetime-prompt", "facetime-audio",
        "facetime-audio-prompt", "imap", "pop", "addressbook", "contact", "phasset",
    ]

    private static func isHost(_ host: ArraySlice<UInt8>, scheme: String) -> Bool {
        if Self.isName(host) || Self.encodedHostSchemes.contains(scheme) { return true }
        return host.contains { $0 >= 0x80 } && InternationalHost.isAccepted(host)
    }

    /// RFC 3986's reg-name: each `%` is followed by two hexadecimal digits.
    static func isName(_ name: ArraySlice<UInt8>) -> Bool {
        var rest = name
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2, rest.prefix(2).allSatisfy(\.isHexadecimalDigit) else { return false }
                rest = rest.dropFirst(2)
            } else if !byte.isNameCharacter {
                return false
            }
        }
        return true
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20
    }

    fileprivate var isDigit: Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= self
    }

    /// RFC 3986's unreserved and sub-delims.
    var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: self.isLetter || self.isDigit
        }
    }
}
