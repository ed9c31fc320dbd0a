/// A request, or a connection, that the server refuses by itself.
public struct HTTPRefusal: Sendable {
    /// HTTP status of the answer.
    public let status: Int
    /// The machine word: see ``HTTPServerConfiguration/errorBody``.
    public let word: String
    /// A sentence, plain ASCII without quotation marks.
    public let message: String
    /// The path as the client wrote it, as far as it was read; empty where no request line was.
    public let path: String

    init(_ fault: HTTPFault, path: String) {
        self.status = fault.status
        self.word = fault.rawValue
        self.message = fault.message
        self.path = path
    }

    /// What is answered where the owner says nothing else.
    public var body: [UInt8] {
        Array(#"{"error":{"code":"\#(word)","message":"\#(message)"}}"#.utf8)
    }
}
