/// What a dialect needs of the gateway for broadcast channels. One object per lane, used on that lane's thread.
public protocol ChannelGateway: AnyObject {
    /// Asks APNs, once, and waits for its answer. Every request that goes out is recorded before, and its end after.
    func perform(_ order: ChannelOrder) async throws(ChannelFault) -> ChannelAnswer
}
