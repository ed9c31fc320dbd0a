import Gateway
import VerbatimJSON

/// To_Account: whom a message goes to, and whom it cannot go to.
struct Recipients: Equatable {
    /// A recipient that fails while others may succeed; one element of `ErrorList`.
    struct Failure: Equatable {
        var account: String
        var code: TencentError.Code

        /// What is wrong, in words.
        var info: String {
            code == .accountNotImported ? TencentError.notImported.info : "invalid To_Account"
        }
    }

    /// The most accounts of one batch, counted before duplicates are removed.
    static let maximum = 500

    /// Each once, in the caller's order.
    private(set) var accounts: [String] = []
    /// Those that cannot be sent to, each once.
    private(set) var failures: [Failure] = []

    /// Nobody that the request names.
    init() {}

    /// - Parameter value: the field To_Account, nil if it is missing.
    init(decoding value: JSONValue?, form: ChatMessage.Form) throws(TencentError) {
        let listed: [String]
        switch form {
        case .single:
            guard let account = value?.string else {
                throw TencentError(.recipient, path: "To_Account", "must be a string")
            }
            listed = [account]
        case .batch, .push:
            listed = try Recipients.list(value)
        case .group:
            listed = try Recipients.groupMembers(value)
        case .pushAll, .messageAll:
            listed = []
        }
        if listed.count == 1 {
            listed.forEach { add($0) }
        } else {
            // By bytes: Swift's `==` takes two accounts for one that only look the same.
            var seen = Set<[UInt8]>()
            for account in listed where seen.insert(Array(account.utf8)).inserted {
                add(account)
            }
        }
    }

    private mutating func add(_ account: String) {
        if Account.isValid(account) {
            accounts.append(account)
        } else {
            failures.append(Failure(account: account, code: .unknownRecipient))
        }
    }

    /// Moves the accounts that are not in `imported` to the failures.
    mutating func require(imported: AccountSet) {
        failures += accounts.filter { !imported.contains($0) }.map { Failure(account: $0, code: .accountNotImported) }
        accounts.removeAll { !imported.contains($0) }
    }

    /// The most accounts that a message to some members of a group names.
    static let maximumOfGroup = 50

    /// Members of a group, each of which must be an account: its answer has no ErrorList.
    private static func groupMembers(_ value: JSONValue?) throws(TencentError) -> [String] {
        guard let value else { return [] }
        guard value.kind == .array else { throw TencentError(.groupParameter, path: "To_Account", "must be an array") }
        let elements = value.elements
        // Whoever made an empty list did not mean the whole group.
        guard !elements.isEmpty else {
            throw TencentError(
                .groupParameter,
                path: "To_Account",
                "must not be empty; leave it out to send to the whole group",
            )
        }
        guard elements.count <= maximumOfGroup else {
            throw TencentError(
                .groupParameter,
                path: "To_Account",
                "has \(elements.count) accounts, at most \(maximumOfGroup) are allowed",
            )
        }
        var accounts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let account = element.string, Account.isValid(account) else {
                throw TencentError(
                    .groupParameter,
                    path: "To_Account[\(index)]",
                    "must be a string of \(Account.limits)",
                )
            }
            accounts.append(account)
        }
        return accounts
    }

    private static func list(_ value: JSONValue?) throws(TencentError) -> [String] {
        guard let value, value.kind == .array else {
            throw TencentError(.recipientsNotArray, path: "To_Account", "must be an array of strings")
        }
        let elements = value.elements
        guard !elements.isEmpty else {
            throw TencentError(.recipientsEmpty, path: "To_Account", "must not be empty")
        }
        guard elements.count <= maximum else {
            throw TencentError(
                .tooManyRecipients,
                path: "To_Account",
                "has \(elements.count) accounts, at most \(maximum) are allowed",
            )
        }
        var accounts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let account = element.string else {
                throw TencentError(.recipientsNotArray, path: "To_Account[\(index)]", "must be a string")
            }
            accounts.append(account)
        }
        return accounts
    }
}
