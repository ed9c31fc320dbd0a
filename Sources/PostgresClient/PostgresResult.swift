import CLibpq

/// What a statement returned: its rows in binary, and how many rows it touched.
public struct PostgresResult: Sendable {
    /// The rows, in the server's order.
    public let rows: PostgresRows
    /// How many rows an INSERT, UPDATE, DELETE, MERGE or SELECT touched; 0 for other statements.
    public let affectedRows: Int

    /// Takes over `result`.
    init(_ result: OpaquePointer) {
        self.rows = PostgresRows(ResultMemory(result))
        self.affectedRows = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }
}

/// The rows of a result. Copies share the memory that libpq received them in.
public struct PostgresRows: Sendable, RandomAccessCollection {
    let memory: ResultMemory
    /// Always 0.
    public let startIndex = 0
    /// The number of rows.
    public let endIndex: Int

    init(_ memory: ResultMemory) {
        self.memory = memory
        self.endIndex = Int(PQntuples(memory.result))
    }

    /// The row at `position`. The getters of a row that is not there throw.
    public subscript(position: Int) -> PostgresRow {
        PostgresRow(memory: memory, index: Int32(clamping: position))
    }
}

/// Owner of one `PGresult`.
///
/// Sendable without the compiler's proof: the result is complete when it comes here, `result` never changes, the
/// functions used on it (`PQntuples`, `PQnfields`, `PQfnumber`, `PQftype`, `PQfformat`, `PQgetisnull`, `PQgetlength`,
/// `PQgetvalue`) only read, and `PQclear` is called once, by the last owner.
final class ResultMemory: @unchecked Sendable {
    let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }
}
