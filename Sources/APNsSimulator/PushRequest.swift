/// A request as it arrived on a stream, before any check.
struct PushRequest {
    /// A header field; HTTP/2 has made sure that its name is lower-case.
    struct Header {
        var name: String
        var value: String
    }

    var environment: APNsEnvironment
    var time: UnixTime
    var method: String
    var path: String
    /// In the order of the request, without the pseudo-headers.
    var headers: [Header]
    /// At most ``PushRequest/maximumStoredBody`` bytes: what is longer is refused by its length alone.
    var body: [UInt8]
    /// How many bytes the body had on the wire.
    var bodyLength: Int

    /// More than any kind of push may have, so that a long body costs no memory.
    static let maximumStoredBody = 8192

    /// The value of the first header of that name.
    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
