import SwiftSyntax

/// Something in a source file that cannot be read, or that people should know.
struct SourceProblem: Error, CustomStringConvertible {
    enum Severity: String {
        case error
        case warning
    }

    let severity: Severity
    let file: String
    let line: Int
    let column: Int
    let message: String

    /// As compilers write it, so that editors find the place.
    var description: String {
        "\(self.file):\(self.line):\(self.column): \(self.severity.rawValue): \(self.message)"
    }
}

/// Where problems are gathered: one run names all of them.
final class SourceProblems {
    private(set) var all: [SourceProblem] = []

    var hasErrors: Bool {
        self.all.contains { $0.severity == .error }
    }

    func error(_ message: String, at node: some SyntaxProtocol, in file: SourceFile) {
        self.add(.error, message, node, file)
    }

    func warning(_ message: String, at node: some SyntaxProtocol, in file: SourceFile) {
        self.add(.warning, message, node, file)
    }

    private func add(
        _ severity: SourceProblem.Severity,
        _ message: String,
        _ node: some SyntaxProtocol,
        _ file: SourceFile
    ) {
        let location = file.converter.location(for: node.positionAfterSkippingLeadingTrivia)
        let problem = SourceProblem(
            severity: severity,
            file: file.name,
            line: location.line,
            column: location.column,
            message: message,
        )
        guard !self.all.contains(where: { $0.description == problem.description }) else { return }
        self.all.append(problem)
    }
}
