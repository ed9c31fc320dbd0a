/// How many streams a connection may have open.
///
/// None before APNs' first SETTINGS. With token authentication one until it has answered a request with a valid token,
/// and then as many as its latest SETTINGS say; both numbers change while the connection lives (Apple: "Sending
/// notification requests to APNs").
struct StreamLimit: Equatable {
    /// What this client allows itself at most.
    let ceiling: Int
    /// Whether a request was answered in a way that proves the provider token.
    private(set) var isProven = false
    private var announced: Int?
    /// Streams up to this id were opened before the peer lowered its limit.
    private var lastStreamBeforeLowering: Int32 = 0

    init(ceiling: Int) {
        self.ceiling = ceiling
    }

    /// How many streams may be open now.
    var value: Int {
        // Before the first SETTINGS nobody knows that a server is there at all: what was sent by then and is not answered
        // would count as perhaps processed.
        guard let announced else { return 0 }
        return min(announced, isProven ? ceiling : 1)
    }

    /// Whether the peer's first SETTINGS have come.
    var hasSettings: Bool { announced != nil }

    /// To be told the value of SETTINGS_MAX_CONCURRENT_STREAMS after each SETTINGS frame.
    ///
    /// - Parameter lastStream: the id of the newest stream.
    mutating func settingsReceived(maximumStreams: Int, lastStream: Int32) {
        if maximumStreams < announced ?? .max {
            lastStreamBeforeLowering = lastStream
        }
        announced = maximumStreams
    }

    /// To be told when APNs has answered a request on its merits.
    mutating func requestAnswered() {
        isProven = true
    }

    /// Whether a REFUSED_STREAM cannot be explained by a limit that was lowered after the stream was opened. Such a
    /// connection has to be replaced: it would refuse for ever.
    func isRefusalUnfounded(of stream: Int32) -> Bool {
        stream > lastStreamBeforeLowering
    }
}
