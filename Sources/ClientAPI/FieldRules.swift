/// The limits of texts that come in paths, queries and bodies alike.
enum FieldRules {
    static let sequenceRule = "sequence is an integer from 0 to 9223372036854775807"

    static func installation(_ value: String) throws(ClientError) -> String {
        let isValid = value.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isValid, (1...64).contains(value.utf8.count) else {
            throw ClientError(.invalidValue, "an installation is 1 to 64 of A-Z a-z 0-9 . _ -", field: "installation")
        }
        // Clients and proxies take these out of a path, so that such an installation could not be logged out.
        guard value != ".", value != ".." else {
            throw ClientError(.invalidValue, "an installation is not . or ..", field: "installation")
        }
        return value
    }

    static func laID(_ value: String) throws(ClientError) -> String {
        guard (1...64).contains(value.utf8.count) else {
            throw ClientError(.invalidValue, "a LaId has 1 to 64 bytes", field: "LaId")
        }
        return value
    }

    static func messageKey(_ value: String) throws(ClientError) -> String {
        guard (1...128).contains(value.utf8.count) else {
            throw ClientError(.invalidValue, "a MsgKey has 1 to 128 bytes", field: "MsgKey")
        }
        return value
    }
}
