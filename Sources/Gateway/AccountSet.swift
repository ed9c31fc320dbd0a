/// Accounts, told apart by their bytes as PostgreSQL does: `Set<String>` would hold canonically equivalent ones (Unicode,
/// chapter 3.7), such as the two spellings of `é`, for one.
public struct AccountSet: Sendable, Equatable, ExpressibleByArrayLiteral {
    private var names: Set<[UInt8]>

    /// A set of these.
    public init(_ accounts: some Sequence<String>) {
        names = Set(accounts.map { Array($0.utf8) })
    }

    /// A set of these.
    public init(arrayLiteral accounts: String...) {
        self.init(accounts)
    }

    /// Whether there is none in it.
    public var isEmpty: Bool { names.isEmpty }

    /// Whether this one is in it, byte for byte.
    public func contains(_ account: String) -> Bool {
        names.contains(Array(account.utf8))
    }

    /// Adds one.
    public mutating func insert(_ account: String) {
        names.insert(Array(account.utf8))
    }
}
