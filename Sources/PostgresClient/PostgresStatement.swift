/// One SQL statement and the values for its `$1`, `$2`, ...
public struct PostgresStatement: Sendable {
    enum Text: Sendable {
        case constant(StaticString)
        case unsafe(String)
    }

    let text: Text
    let parameters: [PostgresParameter]

    /// A statement whose text is a constant of the program, so that no value can become SQL.
    ///
    /// A connection prepares it when it first meets the text with these parameter types, and from then on only names
    /// it.
    public init(_ text: StaticString, _ parameters: [PostgresParameter] = []) {
        self.text = text.hasPointerRepresentation ? .constant(text) : .unsafe(text.description)
        self.parameters = parameters
    }

    /// A statement whose text was put together at run time (a partition's name, an identifier). Nothing a user sent may
    /// be in `unsafeText`. It is not prepared.
    public init(unsafeText: String, _ parameters: [PostgresParameter] = []) {
        self.text = .unsafe(unsafeText)
        self.parameters = parameters
    }

    /// A message holds the parameter count in 16 bits and its length in 31; the server allows 1 GB and closes the
    /// connection beyond it. This stays well below, since one such unit would also starve the others.
    private static let maximumBytes = 256 << 20

    /// Why this statement must not be sent, if so.
    var refusal: PostgresError.Kind? {
        if case .unsafe(let text) = text, text.utf8.contains(0) {
            return .invalidText
        }
        guard parameters.count <= Int(UInt16.max) else { return .parameterOutOfRange }
        var size = 0
        for parameter in parameters {
            switch parameter.value {
            case .refused(let kind): return kind
            case .text(let text): size += text.utf8.count
            case .bytes(let bytes): size += bytes.count
            case .fixed, .null: break
            }
        }
        return size > PostgresStatement.maximumBytes ? .parameterOutOfRange : nil
    }
}
