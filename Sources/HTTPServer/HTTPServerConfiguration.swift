/// The limits of an ``HTTPServer``, each with a default that suits a service on the open Internet.
public struct HTTPServerConfiguration: Sendable {
    /// How long a request's head may take, from its first byte, however it trickles in; then 408. Also how long a new
    /// connection may say nothing at all; it is then closed without a word. Default 10 s.
    public var headDeadline: Duration = .seconds(10)

    /// How long a request's body may take in all, from the end of its head; then 408. Default 30 s.
    public var bodyDeadline: Duration = .seconds(30)

    /// How long a connection may stay open between two requests; it is then closed without a word. Default 75 s.
    public var idleDeadline: Duration = .seconds(75)

    /// How long a client may take to read one answer; the connection is then dropped. Default 30 s.
    public var answerDeadline: Duration = .seconds(30)

    /// How long a connection is read and its bytes thrown away after the last answer was sent, so that a client that
    /// is still sending reads the answer and not a reset (RFC 9112, section 9.6). Default 2 s.
    public var lingerDeadline: Duration = .seconds(2)

    /// How many connections one server holds; further ones get 503 and are closed at once. Default 10,000.
    public var maximumConnections = 10_000

    /// The longest request line and headers together, in bytes; beyond that 431. http-parser has a limit of its own at
    /// 80 KB. Default 16 KB.
    public var maximumHeadBytes = 16 * 1024

    /// The longest request body, in bytes after chunked decoding; beyond that 413. Default 256 KB.
    public var maximumBodyBytes = 256 * 1024

    /// Makes the body of an answer that the server gives by itself, as `application/json`.
    ///
    /// The words: `malformed_request` and `target_not_encoded` (400), `request_timeout` (408), `body_too_large` (413),
    /// `content_coding_not_implemented` (415), `expectation_failed` (417), `head_too_large` (431),
    /// `method_not_implemented` and `transfer_coding_not_implemented` (501), `too_many_connections` (503),
    /// `http_version_not_supported` (505).
    public var errorBody: @Sendable (HTTPRefusal) -> [UInt8] = { $0.body }

    /// Makes a configuration of the defaults.
    public init() {}
}
