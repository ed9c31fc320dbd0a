import SwiftParser
import SwiftParserDiagnostics
import SwiftSyntax

/// A file of Swift source, parsed.
final class SourceFile {
    let name: String
    let syntax: SourceFileSyntax
    let converter: SourceLocationConverter

    init(name: String, source: String) {
        self.name = name
        self.syntax = Parser.parse(source: source)
        self.converter = SourceLocationConverter(fileName: name, tree: self.syntax)
    }

    /// The first place that is not Swift, if there is one.
    func syntaxError() -> SourceProblem? {
        guard self.syntax.hasError,
            let diagnostic = ParseDiagnosticsGenerator.diagnostics(for: self.syntax).first(where: { diagnostic in
                diagnostic.diagMessage.severity == .error
            })
        else { return nil }
        let location = diagnostic.location(converter: self.converter)
        return SourceProblem(
            severity: .error,
            file: self.name,
            line: location.line,
            column: location.column,
            message: "this is not Swift: \(diagnostic.message)",
        )
    }
}
