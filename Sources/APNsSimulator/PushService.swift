/// What a port of the simulator plays, beside its environment.
enum PushService {
    /// Pushes to device tokens.
    case device
    /// Pushes to broadcast channels.
    case broadcast
    /// Creates, reads, lists and deletes broadcast channels.
    case management
}
