/// An option of a command. Its value may also come from the environment, under the same name.
struct CommandOption: Sendable {
    /// How often it may stand on the command line.
    enum Kind: Sendable {
        case flag
        case value(String)
        case values(String)
    }

    /// Without the dashes, such as `database-url`.
    let name: String
    /// Flag, or what the value is called in the help.
    let kind: Kind
    let help: String

    /// `LIVEPUSH_DATABASE_URL` for `--database-url`.
    var environmentName: String {
        "LIVEPUSH_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    static let databaseURL = CommandOption(
        name: "database-url",
        kind: .value("URL"),
        help: "PostgreSQL, as postgresql://user@host:5432/database or key=value words",
    )
    static let sdkAppID = CommandOption(name: "sdk-app-id", kind: .value("N"), help: "the app's SDKAppID")
}
