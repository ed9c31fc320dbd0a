import COpenSSL

/// The broadcast channels of both environments, which share none.
struct ChannelTable {
    /// What channels belong to.
    struct Place: Hashable {
        let environment: APNsEnvironment
        let bundleID: String
    }

    /// A channel.
    struct Channel {
        /// `message-storage-policy`: 0 nothing, 1 the most recent push.
        let policy: Int
        /// Rises in the order in which channels were created.
        let number: Int
        /// What it has stored.
        fileprivate(set) var stored: Stored?
    }

    /// The most recent push to a channel, for phones that come later.
    struct Stored {
        let broadcast: ChannelRequestCheck.Broadcast
        /// Seconds since 1970.
        let until: Int64
    }

    /// For how many seconds a push is stored at most.
    private static let longestStorage: Int64 = 8 * 3600

    /// Channels that an app may have in an environment (Apple: "Sending channel management requests to APNs").
    static let limit = 10_000
    /// Channels of all apps that fit.
    static let capacity = 100_000

    private var channels: [Place: [String: Channel]] = [:]
    private var created = 0
    private var count = 0

    /// - Throws: 400 CannotCreateChannelConfig where the app has as many as it may.
    mutating func create(policy: Int, in place: Place) throws(Refusal) -> String {
        guard (channels[place]?.count ?? 0) < ChannelTable.limit, count < ChannelTable.capacity else {
            throw Refusal(400, "CannotCreateChannelConfig")
        }
        let id = ChannelTable.makeID()
        created += 1
        count += 1
        channels[place, default: [:]][id] = Channel(policy: policy, number: created)
        return id
    }

    /// - Throws: 400 ChannelNotRegistered if there is none.
    func channel(_ id: String, in place: Place) throws(Refusal) -> Channel {
        guard let channel = channels[place]?[id] else { throw Refusal(400, "ChannelNotRegistered") }
        return channel
    }

    /// - Throws: 400 ChannelNotRegistered if there is none.
    mutating func delete(_ id: String, in place: Place) throws(Refusal) {
        guard channels[place]?.removeValue(forKey: id) != nil else { throw Refusal(400, "ChannelNotRegistered") }
        count -= 1
    }

    /// Keeps a push as the most recent one, where the channel stores any and the push may be stored.
    mutating func store(_ broadcast: ChannelRequestCheck.Broadcast, in place: Place, now: Int64) {
        let until = min(broadcast.expiration ?? 0, now + ChannelTable.longestStorage)
        guard channels[place]?[broadcast.channelID]?.policy == 1 else { return }
        // One that is not to be stored is more recent all the same.
        channels[place]?[broadcast.channelID]?.stored = until > now ? Stored(broadcast: broadcast, until: until) : nil
    }

    /// What a channel has for a phone that comes now.
    func stored(_ id: String, in place: Place, now: Int64) -> ChannelRequestCheck.Broadcast? {
        channels[place]?[id]?.stored.flatMap { now < $0.until ? $0.broadcast : nil }
    }

    /// Where there is a channel of this id.
    func places(of id: String) -> [Place] {
        channels.filter { $0.value[id] != nil }.keys
            .sorted { ($0.environment.rawValue, $0.bundleID) < ($1.environment.rawValue, $1.bundleID) }
    }

    /// Forgets what channels have stored.
    mutating func forgetStored() {
        for (place, known) in channels {
            channels[place] = known.mapValues { Channel(policy: $0.policy, number: $0.number) }
        }
    }

    /// In the order of their creation.
    func ids(in place: Place) -> [String] {
        (channels[place] ?? [:]).sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    /// All there are, in the order of their creation.
    var all: [(place: Place, id: String, channel: Channel)] {
        channels.flatMap { place, channels in channels.map { (place: place, id: $0.key, channel: $0.value) } }
            .sorted { $0.channel.number < $1.channel.number }
    }

    /// Base64 of 16 random bytes, the form in Apple's samples.
    private static func makeID() -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        RAND_bytes(&bytes, 16)
        var text = [UInt8](repeating: 0, count: 25)
        let length = EVP_EncodeBlock(&text, bytes, 16)
        return String(decoding: text.prefix(Int(length)), as: UTF8.self)
    }
}
