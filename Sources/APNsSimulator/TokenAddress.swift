/// A token and the environment it is of: the same digits in the other one would be another token.
struct TokenAddress: Hashable {
    /// nil for a declared token, whose declaration tells.
    let environment: APNsEnvironment?
    let token: DeviceToken
}
