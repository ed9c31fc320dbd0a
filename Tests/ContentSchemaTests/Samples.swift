import ContentSchema
import Foundation
import Testing

/// The samples with their schemas as the reader read them.
enum Samples {
    struct Sample: Sendable {
        let schema: ActivitySchema
        let decodeState: @Sendable (Data) throws -> Void
        let decodeAttributes: @Sendable (Data) throws -> Void

        init<Attributes: ActivityAttributes & SendableMetatype>(_ type: Attributes.Type) throws
        where Attributes.ContentState: SendableMetatype {
            let name = String(describing: type)
            let outcome = try SchemaReader.run([SchemaReader.samples, "--type", name])
            try #require(outcome.status == 0, "\(name): \(outcome.errors)")
            self.schema = try ActivitySchema(parsing: Array(outcome.output.utf8))
            self.decodeState = { _ = try JSONDecoder().decode(Attributes.ContentState.self, from: $0) }
            self.decodeAttributes = { _ = try JSONDecoder().decode(Attributes.self, from: $0) }
        }
    }

    static func all() throws -> [Sample] {
        [
            try Sample(AdventureAttributes.self), try Sample(NumberAttributes.self),
            try Sample(OneIntegerAttributes.self), try Sample(OneByteAttributes.self),
            try Sample(OneDoubleAttributes.self), try Sample(FoundationAttributes.self),
            try Sample(OneURLAttributes.self), try Sample(OneDataAttributes.self),
            try Sample(CollectionAttributes.self), try Sample(EnumAttributes.self),
            try Sample(PropertyAttributes.self), try Sample(ShapeAttributes.self),
            try Sample(RectangleAttributes.self), try Sample(PlaylistAttributes.self),
        ]
    }
}

/// The program that reads Swift source, as it was built with these tests.
enum SchemaReader {
    static let samples = String(#filePath.dropLast("Samples.swift".count)) + "SampleAttributes.swift"

    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Reads text as if it were a file.
    static func read(_ source: String, _ arguments: [String] = []) throws -> Outcome {
        let file = FileManager.default.temporaryDirectory.appending(path: "livepush-\(UUID().uuidString).swift")
        try source.write(to: file, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let outcome = try self.run([file.path] + arguments)
        return Outcome(
            status: outcome.status,
            output: outcome.output,
            errors: outcome.errors.replacingOccurrences(of: file.path, with: "File.swift"),
        )
    }

    static func run(_ arguments: [String]) throws -> Outcome {
        let process = Process()
        // Beside the tests' own program.
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "livepush-schema-reader")
        process.arguments = arguments
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let errorText = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus,
            output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: errorText, as: UTF8.self),
        )
    }
}
