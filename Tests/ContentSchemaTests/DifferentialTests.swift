import ContentSchema
import Foundation
import Testing
import VerbatimJSON

/// The verdict of a schema beside what JSONDecoder does, value by value.
@Suite("Against JSONDecoder", .timeLimit(.minutes(5)))
struct DifferentialTests {
    /// Unix seconds, so far ahead that no generated date is near.
    private static let now: Int64 = 40_000_000_000

    @Test("Thousands of values for every sample are accepted and refused as by JSONDecoder, at the same place")
    func generatedValues() throws {
        var accepted = 0
        var refused = 0
        var disagreements: [String] = []
        for sample in try Samples.all() {
            for seed in 0..<UInt64(1500) {
                for part in [ActivitySchema.Part.contentState, .attributes] {
                    var generator = ValueGenerator(schema: sample.schema, seed: seed)
                    let type = part == .contentState ? sample.schema.contentState : sample.schema.attributes
                    let text = generator.text(for: type)
                    let decode = part == .contentState ? sample.decodeState : sample.decodeAttributes
                    guard let document = try? JSONDocument(parsing: Array(text.utf8)) else {
                        Issue.record("seed \(seed) made no JSON: \(text)")
                        continue
                    }
                    let verdict = sample.schema.check(document.root, as: part, now: Self.now)
                    let error = Self.error { try decode(Data(text.utf8)) }
                    if error == nil { accepted += 1 } else { refused += 1 }
                    guard let disagreement = Self.disagreement(verdict, error, part) else { continue }
                    disagreements.append(
                        "\(sample.schema.attributesType).\(part) seed \(seed): \(disagreement)\n  \(text)"
                    )
                }
            }
        }
        #expect(disagreements.isEmpty, "\(disagreements.count):\n\(disagreements.prefix(15).joined(separator: "\n"))")
        // Neither side may be rare, or little was compared.
        #expect(accepted > 5_000)
        #expect(refused > 5_000)
    }

    @Test("Every number at the edge of a type is accepted and refused as by JSONDecoder")
    func edgeNumbers() throws {
        try self.compare(ValueGenerator.numbers, NumberTypes.all)
    }

    @Test("Texts for UUID, URL and Data are accepted and refused as by JSONDecoder")
    func edgeTexts() throws {
        let quoted = (ValueGenerator.uuids + ValueGenerator.addresses).map { text in
            "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        try self.compare(
            quoted,
            ["UUID": { try Self.decode(UUID.self, $0) }, "URL": { try Self.decode(URL.self, $0) }]
        )
    }

    private enum NumberTypes {
        static let all: [String: @Sendable (String) throws -> Void] = [
            "Int": { try decode(Int.self, $0) }, "Int8": { try decode(Int8.self, $0) },
            "Int16": { try decode(Int16.self, $0) }, "Int32": { try decode(Int32.self, $0) },
            "Int64": { try decode(Int64.self, $0) }, "Int128": { try decode(Int128.self, $0) },
            "UInt": { try decode(UInt.self, $0) }, "UInt8": { try decode(UInt8.self, $0) },
            "UInt16": { try decode(UInt16.self, $0) }, "UInt32": { try decode(UInt32.self, $0) },
            "UInt64": { try decode(UInt64.self, $0) }, "UInt128": { try decode(UInt128.self, $0) },
            "Float": { try decode(Float.self, $0) }, "Double": { try decode(Double.self, $0) },
            "Decimal": { try decode(Decimal.self, $0) }, "Date": { try decode(Date.self, $0) },
            "CGFloat": { try decode(CGFloat.self, $0) },
        ]
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws {
        _ = try JSONDecoder().decode(type, from: Data(text.utf8))
    }

    private func compare(_ texts: [String], _ types: [String: @Sendable (String) throws -> Void]) throws {
        var disagreements: [String] = []
        for (name, decode) in types.sorted(by: { $0.key < $1.key }) {
            let type = try ContentType(parsing: name)
            let schema = try ActivitySchema(attributesType: "A", attributes: type, contentState: type, types: [:])
            for text in texts {
                let root = try JSONDocument(parsing: Array(text.utf8)).root
                let verdict = schema.check(root, as: .contentState, now: Self.now)
                let error = Self.error { try decode(text) }
                if (error == nil) != verdict.isDecodable {
                    disagreements.append("\(name) <- \(text): \(error.map { "\($0)" } ?? "decoded"), \(verdict.faults)")
                }
            }
        }
        #expect(disagreements.isEmpty, "\(disagreements.joined(separator: "\n"))")
    }

    // MARK: - Comparing

    private static func error(_ body: () throws -> Void) -> (any Error)? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }

    /// What the two disagree about; nil if nothing.
    private static func disagreement(
        _ verdict: ContentVerdict,
        _ error: (any Error)?,
        _ part: ActivitySchema.Part,
    ) -> String? {
        guard let error else {
            return verdict.isDecodable ? nil : "decoded, but \(verdict.faults.map(\.description))"
        }
        guard let error = error as? DecodingError else { return "\(error)" }
        if verdict.isDecodable { return "accepted, but \(error)" }
        let path: String
        switch error {
        case .keyNotFound(let key, let context):
            path = Self.path(context.codingPath + [key], part)
        case .valueNotFound(_, let context), .typeMismatch(_, let context):
            path = Self.path(context.codingPath, part)
        case .dataCorrupted(let context):
            // For a number that does not fit, it does not say where.
            if context.debugDescription.contains("not valid JSON") {
                return verdict.faults.contains { $0.kind == .invalid } ? nil : "\(verdict.faults), but \(error)"
            }
            path = Self.path(context.codingPath, part)
        @unknown default:
            return "\(error)"
        }
        return verdict.faults.contains { $0.path == path }
            ? nil : "\(verdict.faults.map(\.path)), but at \(path): \(error)"
    }

    private static func path(_ codingPath: [any CodingKey], _ part: ActivitySchema.Part) -> String {
        codingPath.reduce(part.rawValue) { text, key in
            if let index = key.intValue, key.stringValue == "Index \(index)" { return "\(text)[\(index)]" }
            let isPlain = key.stringValue.unicodeScalars.allSatisfy { scalar in
                scalar.value >= 0x80 || scalar.properties.isAlphabetic || "_-0123456789".unicodeScalars.contains(scalar)
            }
            return isPlain && !key.stringValue.isEmpty
                ? "\(text).\(key.stringValue)" : "\(text)[\"\(key.stringValue)\"]"
        }
    }
}
