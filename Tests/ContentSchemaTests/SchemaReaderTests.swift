import ContentSchema
import Foundation
import Testing

/// What the program that reads Swift source makes of files as apps have them.
@Suite("Reading Swift source", .timeLimit(.minutes(2)))
struct SchemaReaderTests {
    /// The schema, each type's members in one line.
    private func read(_ source: String, _ arguments: [String] = []) throws -> (ActivitySchema, [String: String]) {
        let outcome = try SchemaReader.read(source, arguments)
        try #require(outcome.status == 0, "\(outcome.errors)")
        let schema = try ActivitySchema(parsing: Array(outcome.output.utf8))
        return (schema, schema.types.mapValues(Self.line))
    }

    private static func line(_ definition: TypeDefinition) -> String {
        switch definition {
        case .structure(let fields): Self.line(fields)
        case .anything: "anything"
        case .rawEnumeration(let rawType, let values, let isCodingKey):
            "\(rawType.scalar.rawValue): \(values.map(\.description).joined(separator: ", "))\(isCodingKey ? " (key)" : "")"
        case .rawStructure(let rawType): "raw \(rawType.scalar.rawValue)"
        case .enumeration(let cases):
            cases.map { $0.fields.isEmpty ? $0.key : "\($0.key)(\(Self.line($0.fields)))" }.joined(separator: " | ")
        }
    }

    private static func line(_ fields: [ContentField]) -> String {
        fields.map { "\($0.key): \($0.type)" }.joined(separator: ", ")
    }

    @Test("A delivery app's file: typealias for the state, a range of dates, views beside it")
    func delivery() throws {
        let (schema, types) = try self.read(
            """
            import ActivityKit
            import SwiftUI
            import WidgetKit

            struct PizzaDeliveryAttributes: ActivityAttributes {
                public typealias PizzaDeliveryStatus = ContentState

                public struct ContentState: Codable, Hashable {
                    var driverName: String
                    var deliveryTimer: ClosedRange<Date>
                }

                var numberOfPizzas: Int
                var totalAmount: String
                var orderNumber: String
            }

            struct PizzaView: View {
                @State private var isOpen = false
                @Environment(\\.colorScheme) var scheme
                let context: ActivityViewContext<PizzaDeliveryAttributes>
                var body: some View { Text(context.state.driverName) }
            }

            #Preview { PizzaView() }
            """
        )
        #expect(schema.attributesType == "PizzaDeliveryAttributes")
        #expect(schema.contentState == .named("PizzaDeliveryAttributes.ContentState"))
        #expect(
            types == [
                "PizzaDeliveryAttributes": "numberOfPizzas: Int, totalAmount: String, orderNumber: String",
                "PizzaDeliveryAttributes.ContentState": "driverName: String, deliveryTimer: ClosedRange<Date>",
            ]
        )
    }

    @Test("The plug-in for Flutter: an id with a default value is decoded, so that a start must carry it")
    func flutter() throws {
        let (_, types) = try self.read(
            """
            import ActivityKit
            @available(iOS 16.1, *)
            struct LiveActivitiesAppAttributes: ActivityAttributes, Identifiable {
                public typealias LiveDeliveryData = ContentState
                public struct ContentState: Codable, Hashable { }
                var id = UUID()
            }
            extension LiveActivitiesAppAttributes { func prefixedKey(_ key: String) -> String { "\\(id)_\\(key)" } }
            """
        )
        #expect(types["LiveActivitiesAppAttributes"] == "id: UUID")
        #expect(types["LiveActivitiesAppAttributes.ContentState"] == "anything")
    }

    @Test("Properties: which are decoded, under which name, as what")
    func properties() throws {
        let (_, types) = try self.read(
            """
            struct A: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    let constant: Int = 5          // not decoded
                    let constants = "x"
                    var preset = 1, other = -2.5, name = "n"
                    var a, b: Int
                    var dates: [Date], optional: Int!, tuple: (String)
                    var kind: Kind = .first
                    var inferred = Kind.second
                    var made = Inner(x: 1)
                    var list = [String]()
                    var flags = [true, false]
                    var now = Date.now
                    @available(iOS 17, *) @MainActor private(set) var guarded: Foundation.UUID?
                    var computed: Int { 1 }
                    var both: Int { get { 1 } set { } }
                    var observed: String = "" { willSet { } didSet { } }
                    static var shared = 1
                    enum Kind: String, Codable { case first, second }
                    struct Inner: Codable, Hashable { var x: Self.Wide; typealias Wide = Int64 }
                }
            }
            """
        )
        #expect(
            types["A.ContentState"] == """
                preset: Int, other: Double, name: String, a: Int, b: Int, dates: [Date], optional: Int?, tuple: String, \
                kind: A.ContentState.Kind, inferred: A.ContentState.Kind, made: A.ContentState.Inner, list: [String], \
                flags: [Bool], now: Date, guarded: UUID?, observed: String
                """
        )
        #expect(types["A"] == "anything")
    }

    @Test("Coding keys rename, leave out and order what is decoded")
    func codingKeys() throws {
        let (_, types) = try self.read(
            """
            enum Kind: Int, Codable { case a }
            struct A: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    var first: Int
                    var second: String?
                    var hidden = Kind.a
                    var maybe: [Int]?
                    private enum CodingKeys: String, CodingKey {
                        case second = "zwei\\u{E9}", first = #"a"b"#
                    }
                }
                var `default`: Int
                enum CodingKeys: CodingKey { case `default` }
            }
            """
        )
        #expect(types["A.ContentState"] == #"zweié: String?, a"b: Int"#)
        #expect(types["A"] == "default: Int")
    }

    @Test("Enums: raw values counted on, associated values labelled and numbered, cases renamed")
    func enums() throws {
        let (_, types) = try self.read(
            """
            typealias Raw = Int16
            struct A: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    var text: Text, number: Number, aliased: Aliased, ratio: Ratio, key: Key
                    var plain: Plain, leg: Leg, renamed: Renamed
                }
                enum Text: String, Codable, CaseIterable { case a, `in`, c = "see", d = "tab\\t" }
                enum Number: Int, Codable { case zero, five = 5, six, hex = 0x1F, next, minus = -1_0, up }
                enum Aliased: Raw, Codable { case a = 1, b }
                enum Ratio: Double, Codable { case a, b = 1.5, c = 2 }
                enum Key: String, Codable, CodingKeyRepresentable { case a }
                enum Plain: Codable, Hashable, Sendable { case a, b }
                indirect enum Leg: Codable, Hashable {
                    case walk
                    case train(String, to: Int?, _ third: [Leg])
                    indirect case wrapped(Leg)
                }
                enum Renamed: Codable, Hashable {
                    case one(value: Int, hidden: Int = 1), two
                    enum CodingKeys: String, CodingKey { case one = "ONE" }
                    enum OneCodingKeys: String, CodingKey { case value = "v" }
                }
            }
            """
        )
        #expect(types["A.Text"] == #"String: "a", "in", "see", "tab\#t""#)
        #expect(types["A.Number"] == "Int: 0, 5, 6, 31, 32, -10, -9")
        #expect(types["A.Aliased"] == "Int16: 1, 2")
        #expect(types["A.Ratio"] == "Double: 0.0, 1.5, 2.0")
        #expect(types["A.Key"] == #"String: "a" (key)"#)
        #expect(types["A.Plain"] == "a | b")
        #expect(types["A.Leg"] == "walk | train(_0: String, to: Int?, _2: [A.Leg]) | wrapped(_0: A.Leg)")
        #expect(types["A.Renamed"] == "ONE(v: Int)")
    }

    @Test("Conformance by protocols, compositions, typealiases and extensions; the nearest type of a name wins")
    func scopes() throws {
        let (schema, types) = try self.read(
            """
            protocol State: Codable, Hashable, Sendable {}
            typealias Both = Codable & Hashable
            protocol Tracked: ActivityAttributes {}
            struct Score: Both { var n: Int }
            struct Date: Both { var day: Int }
            struct A {
                var score: Score
                struct Score: Both { var nested: Foundation.Date; var own: Date }
            }
            extension A: Tracked {
                typealias ContentState = Outer.Inner
            }
            enum Outer {}
            extension Outer {
                struct Inner: State { var score: Score; var more: A.Score? }
            }
            """
        )
        #expect(schema.contentState == .named("Outer.Inner"))
        #expect(types["Outer.Inner"] == "score: Score, more: A.Score?")
        #expect(types["A"] == "score: A.Score")
        #expect(types["A.Score"] == "nested: Date, own: Date")
    }

    @Test("The nearest type of a name is a nested one, though its outer type is called so; calls that make no optional")
    func nearestAndCalls() throws {
        let (_, types) = try self.read(
            """
            struct Order: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    var order: Order
                    var at = Date(timeIntervalSinceNow: 60)
                    var id = UUID()
                    var share = CGFloat(1.5)
                    var note = Note(text: "")
                }
                struct Order: Codable, Hashable { var number: Int }
                struct Note: Codable, Hashable { var text: String }
                var title: String
            }
            """
        )
        #expect(
            types["Order.ContentState"] == "order: Order.Order, at: Date, id: UUID, share: CGFloat, note: Order.Note"
        )
    }

    @Test(
        "An extension that says how a type is decoded is not passed over, be it under a flag or named with its module",
        arguments: [
            (
                "#if BETA\nextension D.S { init(from decoder: any Decoder) throws { n = 0 } }\n#endif",
                "whether BETA is set"
            ),
            ("extension App.D.S { init(from decoder: any Decoder) throws { n = 0 } }", "S decodes itself"),
            ("#if BETA\nextension D.S { static let one = 1 }\n#endif", nil),
        ] as [(String, String?)],
    )
    func extensions(text: String, message: String?) throws {
        let outcome = try SchemaReader.read(
            """
            struct D: ActivityAttributes {
                struct ContentState: Codable, Hashable { var s: S }
                struct S: Codable, Hashable { var n: Int }
            }
            \(text)
            """,
            []
        )
        #expect((outcome.status == 0) == (message == nil), "\(outcome.errors)")
        if let message { #expect(outcome.errors.contains(message), "\(outcome.errors)") }
    }

    @Test("#if is decided as for an iPhone; flags can be told")
    func conditions() throws {
        let source = """
            #if canImport(ActivityKit) && !os(macOS)
            struct A: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    #if DEBUG
                    var debug: Int
                    #elseif BETA && (os(iOS) || FOO)
                    var beta: Int
                    #else
                    var release: Int
                    #endif
                }
            }
            #else
            struct B: ActivityAttributes { struct ContentState: Codable, Hashable {} }
            #endif
            """
        let outcome = try SchemaReader.read(source)
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("File.swift:6:17: error: whether BETA && (os(iOS) || FOO) is set decides how"))
        #expect(try self.read(source, ["--define", "BETA"]).1["A.ContentState"] == "beta: Int")
        #expect(try self.read(source, ["--undefine", "BETA"]).1["A.ContentState"] == "release: Int")
        #expect(try self.read(source, ["--define", "DEBUG"]).1["A.ContentState"] == "debug: Int")
    }

    @Test("Of several types one is chosen")
    func several() throws {
        let source = """
            struct A: ActivityAttributes { struct ContentState: Codable, Hashable { var a: Int } }
            struct B: ActivityAttributes { struct ContentState: Codable, Hashable { var b: Int } }
            """
        let outcome = try SchemaReader.read(source)
        #expect(outcome.status == 1)
        #expect(outcome.errors == "several structs conform to ActivityAttributes; choose with --type: A, B\n")
        #expect(try self.read(source, ["--type", "B"]).0.attributesType == "B")
        #expect(try SchemaReader.read(source, ["--type", "C"]).errors.contains("there is A, B"))
        #expect(try SchemaReader.read("struct A {}").errors == "no struct that conforms to ActivityAttributes\n")
    }

    /// Each replaces `/*state*/`, members of ContentState, or `/*file*/`, declarations at the top.
    @Test(
        "What cannot be read is named with its line and column, and nothing is written",
        arguments: [
            ("state", "@Published var x: Int = 1", "4:9: error: @Published is a property wrapper or a macro"),
            ("state", "@Clamped(1) var x: Int", "4:9: error: @Clamped is a property wrapper or a macro"),
            ("state", "var x: Missing", "4:16: error: the type Missing is not declared in what was read"),
            ("state", "var x: [String: Color]", "4:25: error: the type Color is not declared"),
            (
                "state", "init(from decoder: any Decoder) throws { fatalError() }",
                "4:9: error: ContentState decodes itself with its own init(from:)"
            ),
            (
                "state", "init(from decoder: (any Decoder)) throws { fatalError() }",
                "4:9: error: ContentState decodes itself with its own init(from:)"
            ),
            ("state", #"var x = URL(string: "https://a.b")"#, "4:13: error: the type of x cannot be told"),
            ("state", #"var x = Int("5")"#, "4:13: error: the type of x cannot be told"),
            (
                "state", #"var x = In(rawValue: "a"); enum In: String, Codable { case a }"#,
                "4:13: error: the type of x cannot be told"
            ),
            (
                "state", "var x = In(1); struct In: Codable { var y: Int; init?(_ y: Int) { nil } }",
                "4:13: error: the type of x cannot be told"
            ),
            (
                "state",
                "var x: Int?; enum CodingKeys: String, CodingKey {\n#if BETA\ncase x\n#else\ncase x = \"y\"\n#endif\n}",
                "error: whether BETA is set decides how ContentState is decoded"
            ),
            ("state", "#if os(iOS)\n@Wrap\n#endif\nvar x: Int", "error: attributes under #if cannot be read"),
            ("state", "weak var x: Track?", "4:9: error: a weak property cannot be read"),
            (
                "state", "var x: In.ID; struct In: Codable { var id: Int }",
                "4:16: error: the type In.ID is not declared"
            ),
            ("state", "var x = 60 * make()", "4:13: error: the type of x cannot be told"),
            ("state", "var x = [1: 2, 3: 4.5]", "4:13: error: the type of x cannot be told"),
            ("state", "var x: TimeZone", "4:16: error: the type TimeZone is not declared"),
            (
                "state", "var x = make()",
                "4:13: error: the type of x cannot be told from its default value; write it: var x: Type = ..."
            ),
            ("state", "var (x, y) = (1, 2)", "4:13: error: only `var name: Type` can be read"),
            ("state", "var x: (Int, Int)", "4:16: error: (Int, Int) is not decoded by any rule known here"),
            ("state", "var x: any Hashable", "4:16: error: any Hashable is not decoded by any rule known here"),
            ("state", "var x: Result<Int, Int>", "4:16: error: Result<...> is not a type that can be checked"),
            ("state", "var x: Range<UUID>", "4:16: error: Range<UUID> is not a range that can be checked"),
            (
                "state", "var x: Int; enum CodingKeys: String, CodingKey { case y }",
                "error: ContentState has no stored property y"
            ),
            (
                "state", "var x: Int; struct CodingKeys: CodingKey {}",
                "error: CodingKeys of ContentState is not an enum"
            ),
            (
                "state", "var x: Int; enum CodingKeys: CodingKey { }",
                "4:13: error: x is missing in CodingKeys and has no default"
            ),
            ("state", "var x: In; struct In: Hashable { var y: Int }", "4:20: error: In is not Codable here"),
            (
                "state", "var x: In; class In: Base, Codable { var y: Int = 1 }",
                "4:20: error: In may inherit from another class"
            ),
            ("state", "var x: In; actor In: Codable { var y: Int = 1 }", "4:20: error: In is an actor"),
            (
                "state", "var x: In; class In: Codable { var y: Int; required init(from d: any Decoder) {} }",
                "error: In decodes itself with its own init(from:)"
            ),
            ("state", "var x: In<Int>; struct In<T: Codable>: Codable { var y: T }", "4:16: error: In is generic"),
            ("state", "var x: In; protocol In {}", "4:16: error: In is a protocol"),
            ("state", "var x: E; enum E: Character, Codable { case a = \"a\" }", "4:27: error: an enum over Character"),
            ("state", "var x: E; enum E: Codable {}", "4:19: error: E has no cases"),
            (
                "state", "var x: E; enum E: String, Codable { case a; init?(rawValue: String) { nil } }",
                "error: E accepts raw values by its own"
            ),
            (
                "state", "var x: E; enum E: String, Codable { case a = \"\\(1)\" }",
                "4:54: error: this raw value cannot be read"
            ),
            ("state", "var x: Int = ", "error: this is not Swift: expected expression in variable"),
            ("state", "var x: Loop; typealias Loop = Loop.Deep", "4:39: error: the type Loop.Deep is not declared"),
            ("state", "#members", "4:9: error: a macro may add members to ContentState"),
            ("file", "@Observable", "1:1: error: @Observable may change how A is decoded"),
            (
                "file", "extension A.ContentState { init(from decoder: Decoder) throws { } }",
                "1:28: error: ContentState decodes itself"
            ),
            (
                "file",
                "protocol L {}; extension L { init(from decoder: Decoder) throws { } }; extension A.ContentState: L {}",
                "1:30: error: ContentState decodes itself with its own init(from:)"
            ),
            (
                "file",
                "protocol M {}; protocol L: M {}; extension M { init(from d: any Decoder) throws {} }; extension A: L {}",
                "1:48: error: A decodes itself with its own init(from:)"
            ),
            (
                "file", "extension Decodable where Self: Hashable { init(from decoder: Decoder) throws { } }",
                "1:44: error: ContentState decodes itself with its own init(from:)"
            ),
            (
                "file",
                "extension KeyedDecodingContainer { func decode(_ type: Int.Type, forKey key: Key) throws -> Int { 0 } }",
                "1:36: error: KeyedDecodingContainer gets a decode of its own"
            ),
            (
                "file",
                "extension Swift.KeyedDecodingContainer where Key: X { func decodeIfPresent(_ type: Int.Type, forKey: Key) throws -> Int? { 0 } }",
                "error: KeyedDecodingContainer gets a decodeIfPresent of its own"
            ),
            ("state", "init(from decoder: Decoder) throws {}", "--any A.ContentState takes whatever stands there"),
            ("state", "var x: Color", "--any Color to take whatever stands there"),
        ]
    )
    func refusals(place: String, text: String, message: String) throws {
        let source = """
            /*file*/
            struct A: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    /*state*/
                }
            }
            """.replacingOccurrences(of: "/*\(place)*/", with: text)
        let outcome = try SchemaReader.read(source)
        #expect(outcome.status == 1)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test("Extensions of containers and protocols that decode nothing of the type's are no matter")
    func harmlessExtensions() throws {
        let (_, types) = try self.read(
            """
            protocol Named {}
            extension Named { init(from text: String) {} }
            protocol Other {}
            extension Other { init(from decoder: Decoder) throws {} }
            extension KeyedDecodingContainer { func contains(all keys: [Key]) -> Bool { true } }
            extension String { func decode() -> String { self } }
            struct A: ActivityAttributes, Named { struct ContentState: Codable, Hashable { var n: Int } }
            """
        )
        #expect(types["A.ContentState"] == "n: Int")
    }

    @Test("A type that is not to be read takes anything: one that decodes itself, one of elsewhere, a generic one")
    func unread() throws {
        let source = """
            struct A: ActivityAttributes {
                struct ContentState: Codable, Hashable { var own: Own, color: Color?, box: Box<Int>, n: Int }
                struct Own: Codable, Hashable { init(from decoder: Decoder) throws {} }
            }
            struct Box<Value: Codable & Hashable>: Codable, Hashable { var value: Value }
            """
        let names = ["--any", "Own", "--any", "Color", "--any", "Box"]
        let (_, types) = try self.read(source, names)
        #expect(types["A.ContentState"] == "own: A.Own, color: Color?, box: Box, n: Int")
        for name in ["A.Own", "Color", "Box"] { #expect(types[name] == "anything") }
        #expect(try self.read(source, ["--any", "A.Own"] + names.dropFirst(2)).1["A.Own"] == "anything")
        let unmet = try SchemaReader.read(source, names + ["--any", "Colour"])
        #expect(unmet.status == 1)
        #expect(unmet.errors == "--any Colour: A uses no such type\n")
        #expect(unmet.output.isEmpty)
    }

    @Test("Attributes by the protocols of Pushwoosh's SDK, whose source need not be given")
    func pushwoosh() throws {
        let (schema, types) = try self.read(
            """
            import PushwooshLiveActivities
            struct FoodAttributes: PushwooshLiveActivityAttributes {
                struct ContentState: PushwooshLiveActivityContentState {
                    var status: String
                    var pushwoosh: PushwooshLiveActivityContentStateData?
                }
                var pushwoosh: PushwooshLiveActivityAttributeData
                var order: Int
            }
            """
        )
        #expect(schema.attributesType == "FoodAttributes")
        #expect(
            types == [
                "FoodAttributes": "pushwoosh: PushwooshLiveActivityAttributeData, order: Int",
                "FoodAttributes.ContentState": "status: String, pushwoosh: PushwooshLiveActivityContentStateData?",
                "PushwooshLiveActivityAttributeData": "activityId: String",
                "PushwooshLiveActivityContentStateData": "anything",
            ]
        )
    }

    @Test("Types may stand in several files; a protocol that was not read is taken for Codable, and that is said")
    func severalFiles() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "livepush-\(UUID().uuidString).swift")
        try "public struct Team: Codable, Hashable { let name: String }".write(
            to: file,
            atomically: false,
            encoding: .utf8
        )
        defer { try? FileManager.default.removeItem(at: file) }
        let source = """
            struct A: ActivityAttributes { struct ContentState: AppState { var home: Team } }
            """
        #expect(try SchemaReader.read(source).errors.contains("the type Team is not declared"))
        let outcome = try SchemaReader.read(source, [file.path])
        #expect(outcome.status == 0)
        #expect(
            outcome.errors
                == "File.swift:1:32: warning: ContentState is taken for Codable because of AppState, whose declaration was not read\n"
        )
        #expect(try ActivitySchema(parsing: Array(outcome.output.utf8)).types["Team"] != nil)
    }

    @Test("A name that two files declare is a problem only where it is used")
    func namesakes() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "livepush-\(UUID().uuidString).swift")
        try "private struct Row: Codable, Hashable {}".write(to: file, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let source = """
            private struct Row: Codable, Hashable { let n: Int }
            struct A: ActivityAttributes { struct ContentState: Codable, Hashable { var row: Int } }
            """
        #expect(try SchemaReader.read(source, [file.path]).status == 0)
        let used = try SchemaReader.read(source.replacingOccurrences(of: "row: Int", with: "row: Row"), [file.path])
        #expect(used.status == 1)
        #expect(
            used.errors.hasPrefix("File.swift:1:1: error: Row is declared in \(file.path) as well"),
            "\(used.errors)"
        )
    }

    @Test("The command line is explained, and a file that is not there named")
    func commandLine() throws {
        #expect(try SchemaReader.run(["--help"]).output.hasPrefix("livepush-schema-reader FILE.swift"))
        #expect(try SchemaReader.run([]).status == 64)
        #expect(try SchemaReader.run(["--tipe", "A"]).status == 64)
        let missing = try SchemaReader.run(["/nowhere/A.swift"])
        #expect(missing.status == 1)
        #expect(missing.errors == "/nowhere/A.swift: No such file or directory\n")
    }
}
