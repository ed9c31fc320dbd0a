/// The limits of texts in requests that are no registrations; those of registrations are in `RegistrationRules`.
enum FieldRules {
    static func messageKey(_ value: String) throws(ClientError) -> String {
        guard (1...128).contains(value.utf8.count) else {
            throw ClientError(.invalidValue, "a MsgKey has 1 to 128 bytes", field: "MsgKey")
        }
        return value
    }
}
