import Gateway

/// Keeps what is asked about channels and answers as it is told.
final class FakeChannels: ChannelGateway {
    var orders: [ChannelOrder] = []
    var result: Result<ChannelAnswer.Outcome, ChannelFault> = .success(.channels([]))

    func perform(_ order: ChannelOrder) async throws(ChannelFault) -> ChannelAnswer {
        orders.append(order)
        return ChannelAnswer(
            bundleID: "com.ex.app",
            environment: .sandbox,
            requestID: "123e4567-e89b-12d3-a456-426614174000",
            outcome: try result.get(),
        )
    }
}
