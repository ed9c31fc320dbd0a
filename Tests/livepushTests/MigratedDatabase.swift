import TestSupport

/// A database that `livepush migrate` made, and the three who use it.
struct MigratedDatabase {
    /// Who asks.
    enum User: String, CaseIterable {
        /// Made everything.
        case owner = "postgres"
        /// Has the role livepush_gateway only.
        case gateway = "gateway_login"
        /// Has the role livepush_operator only.
        case person = "operator_login"
        /// Has no role.
        case nobody = "nobody_login"
    }

    let server: PrivatePostgres
    let url: String

    /// A database of its own on the server that all tests share.
    init() throws {
        server = try PrivatePostgres.shared()
        url = try server.makeDatabase()
        let outcome = try ChildProcess.run(Paths.livepush, ["migrate", "--database-url", url])
        guard outcome.status == 0 else { throw ChildProcess.Failure(outcome.errors) }
        try server.makeLogin(User.gateway.rawValue, memberOf: "livepush_gateway")
        try server.makeLogin(User.person.rawValue, memberOf: "livepush_operator")
        try server.makeLogin(User.nobody.rawValue, memberOf: nil)
    }

    @discardableResult
    func sql(_ text: String, as user: User = .owner) throws -> String {
        try server.psql(text, database: server.url(url, as: user.rawValue))
    }

    /// What PostgreSQL says against a statement; nil if it is allowed.
    func refusal(of text: String, as user: User) -> String? {
        do {
            try sql(text, as: user)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
