/// What it means that every APNs environment that was asked answered BadDeviceToken for a token.
enum TokenSuspicion: Sendable, Equatable {
    /// Hardly any token of the app works there: the configuration is wrong, and says nothing about this one.
    case configurationFault
    /// Nothing shows whether the token or the configuration is wrong: the push is lost, the token is not blamed.
    case unproven
    /// Other tokens of the app work there, so it is this one.
    case tokenFault
}
