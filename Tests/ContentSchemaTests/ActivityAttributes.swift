/// ActivityKit's protocol, so that the samples compile where there is no ActivityKit.
protocol ActivityAttributes: Codable {
    associatedtype ContentState: Codable, Hashable
}
