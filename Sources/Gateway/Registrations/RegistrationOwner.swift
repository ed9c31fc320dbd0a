/// Who registers: an account that is logged in on an installation of an app.
///
/// In one app an installation belongs to one account. Registering it for another takes everything on it from the former.
public struct RegistrationOwner: Sendable, Equatable {
    /// The app.
    public var sdkAppID: Int64
    /// The account, 1 to 128 bytes.
    public var account: String
    /// The phone app's own id of this installation, 1 to 64 of `[A-Za-z0-9._-]`.
    public var installation: String

    /// Makes an owner. The dialect has checked every limit before.
    public init(sdkAppID: Int64, account: String, installation: String) {
        self.sdkAppID = sdkAppID
        self.account = account
        self.installation = installation
    }
}
