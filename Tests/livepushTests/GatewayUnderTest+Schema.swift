import TestSupport
import Testing

extension GatewayUnderTest {
    /// Imports the schema of a type from its Swift source.
    ///
    /// - Parameters:
    ///   - state: the members of ContentState, written as in Swift.
    ///   - types: what stands beside the type.
    ///   - attributesType: its name.
    ///   - appVersion: the first version of the app that has it; nil: all.
    /// - Returns: what `livepush schema import` says.
    @discardableResult
    func importSchema(
        _ state: String,
        types: String = "",
        attributes: String = "let number: Int",
        attributesType: String = "RideAttributes",
        from appVersion: String? = nil,
    ) throws -> String {
        let source = """
            import ActivityKit
            struct \(attributesType): ActivityAttributes {
                struct ContentState: Codable, Hashable { \(state) }
                \(attributes)
            }
            \(types)
            """
        let file = "\(folder)/\(attributesType).swift"
        _ = try ChildProcess.run("tee", [file], input: source)
        let version = appVersion.map { ["--from-app-version", $0] } ?? []
        let outcome = try livepush(["schema", "import", file, "--sdk-app-id", "\(Self.sdkAppID)"] + version)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output
    }
}
