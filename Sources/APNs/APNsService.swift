/// The services of one APNs environment, each on a host of its own and so on connections of its own.
public enum APNsService: Sendable, Hashable, CaseIterable {
    /// Pushes to device tokens.
    case device
    /// Pushes to broadcast channels.
    case broadcast
    /// Creates, reads, lists and deletes broadcast channels.
    case channelManagement
}
