/// An answer to one request.
public struct HTTPResponse: Sendable {
    /// The status code, 200...599. Those of 204 and 304 send no body.
    public var status: Int

    /// Further header fields. `Content-Length`, `Transfer-Encoding`, `Connection` and `Date` are the server's and are
    /// left out here; a line break or NUL in a value is sent as a blank.
    public var headers: [(name: String, value: String)]

    /// The body, whole.
    public var body: [UInt8]

    /// What the body says of the outcome, where a protocol answers 200 whatever happens. For counting; it is not sent.
    public var outcomeCode: Int?

    /// Makes an answer of its parts.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer with `Content-Type: application/json`.
    public static func json(
        _ status: Int,
        _ body: [UInt8],
        headers: [(name: String, value: String)] = [],
    ) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: body)
    }
}
