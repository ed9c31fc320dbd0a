/// One of the two separate services of APNs. A token belongs to exactly one: apps signed for development get sandbox
/// tokens, those from TestFlight and the App Store production ones.
public enum APNsEnvironment: String, Sendable, Hashable, CaseIterable {
    case production
    case sandbox
}
