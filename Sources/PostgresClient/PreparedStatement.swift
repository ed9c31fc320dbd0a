/// A statement that one connection has prepared, or is about to.
final class PreparedStatement {
    let name: String
    let types: [PostgresType]
    /// Why the server refused to prepare it: the error of each unit that was sent before the refusal came.
    var failure: PostgresError?

    init(name: String, types: [PostgresType]) {
        self.name = name
        self.types = types
    }
}

/// The prepared statements of one connection, by the address of their constant text and their parameter types.
struct PreparedStatements {
    private var byText: [UInt: [PreparedStatement]] = [:]
    private var counter = 0

    func find(_ text: StaticString, _ parameters: [PostgresParameter]) -> PreparedStatement? {
        byText[address(text)]?.first { $0.types.elementsEqual(parameters.lazy.map(\.type)) }
    }

    /// A name is never used twice, so that a statement the server may still hold is not in the way of its successor.
    mutating func add(_ text: StaticString, _ parameters: [PostgresParameter]) -> PreparedStatement {
        counter += 1
        let statement = PreparedStatement(name: "livepush_\(counter)", types: parameters.map(\.type))
        byText[address(text), default: []].append(statement)
        return statement
    }

    /// Forgets `statement`, so that the next unit prepares it again; does nothing if that has happened already.
    mutating func forget(_ statement: PreparedStatement) {
        for (text, statements) in byText where statements.contains(where: { $0 === statement }) {
            byText[text] = statements.filter { $0 !== statement }
        }
    }

    private func address(_ text: StaticString) -> UInt {
        UInt(bitPattern: text.utf8Start)
    }
}
