/// The APNs environment that a token belongs to. Apple gives development builds tokens of the sandbox.
public enum PushEnvironment: String, Sendable, CaseIterable {
    case sandbox
    case production
}
