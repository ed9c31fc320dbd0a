import ContentSchema

/// Makes JSON texts for a type: right ones, and such as go wrong at the edges. The same seed makes the same texts.
struct ValueGenerator {
    private let schema: ActivitySchema
    private var state: UInt64
    /// How many of a thousand values are not made for their type.
    private let strangeness: UInt64
    private var depth = 0

    init(schema: ActivitySchema, seed: UInt64) {
        self.schema = schema
        self.state = seed &+ 0x9E37_79B9_7F4A_7C15
        self.strangeness = [0, 0, 8, 30, 120][Int(seed % 5)]
    }

    mutating func text(for type: ContentType) -> String {
        if self.chance(self.strangeness) { return self.anything() }
        self.depth += 1
        defer { self.depth -= 1 }
        switch type {
        case .scalar(let scalar): return self.text(for: scalar)
        case .optional(let wrapped): return self.chance(250) ? "null" : self.text(for: wrapped)
        case .array(let element), .set(let element):
            return "[\(self.list { $0.text(for: element) })]"
        case .dictionary(let key, let value): return self.dictionary(key, value)
        case .range(let range, let bound): return self.range(range, bound)
        case .named(let name): return self.schema.types[name].map { self.text(for: $0) } ?? "null"
        }
    }

    private mutating func text(for definition: TypeDefinition) -> String {
        switch definition {
        case .structure(let fields): return self.object(fields)
        case .anything: return self.anything()
        case .rawStructure(let rawType): return self.text(for: rawType.scalar)
        case .rawEnumeration(let rawType, let values, _):
            if self.chance(self.strangeness) { return self.text(for: rawType.scalar) }
            let value = self.pick(values)
            if case .string(let text) = value { return self.quoted(text) }
            let text = "\(value)"
            return self.chance(900) || text.contains(".") ? text : "\(text).0"
        case .enumeration(let cases):
            let chosen = self.depth > 12 ? cases[0] : self.pick(cases)
            var members = [(chosen.key, self.object(chosen.fields))]
            if self.chance(self.strangeness) { members.append((self.pick(cases).key, "{}")) }
            if self.chance(self.strangeness) { members.append(("other", self.anything())) }
            if self.chance(self.strangeness) { members.removeFirst() }
            return self.object(members)
        }
    }

    private mutating func object(_ fields: [ContentField]) -> String {
        var members: [(String, String)] = []
        for field in fields {
            if self.chance(field.isRequired ? self.strangeness : 300) { continue }
            let key = self.chance(self.strangeness) ? field.key.uppercased() : field.key
            members.append((key, self.text(for: field.type)))
        }
        if self.chance(100) { members.append(("extra \(self.below(3))", self.anything())) }
        if self.chance(200) { members.reverse() }
        return self.object(members)
    }

    /// Names that strict JSON takes for the same are left out.
    private mutating func object(_ members: [(String, String)]) -> String {
        var seen: Set<[UInt8]> = []
        let distinct = members.filter { seen.insert(Array($0.0.utf8)).inserted }
        return "{" + distinct.map { "\(self.quoted($0.0)):\($0.1)" }.joined(separator: ",") + "}"
    }

    private mutating func dictionary(_ key: ContentType, _ value: ContentType) -> String {
        var isObject = key == .scalar(.string) || key == .scalar(.int)
        if case .named(let name) = key, case .rawEnumeration(_, _, isCodingKey: true)? = self.schema.types[name] {
            isObject = true
        }
        if self.chance(self.strangeness) { isObject.toggle() }
        guard isObject else {
            var parts: [String] = []
            for _ in 0..<self.below(3) {
                parts += [self.text(for: key), self.text(for: value)]
            }
            if self.chance(self.strangeness) { parts.append("1") }
            return "[" + parts.joined(separator: ",") + "]"
        }
        var members: [(String, String)] = []
        for _ in 0..<self.below(4) {
            var name = self.text(for: key)
            if name.hasPrefix("\""), name.hasSuffix("\"") { name = String(name.dropFirst().dropLast()) }
            if name.contains("\\") || name.contains("\"") { name = "plain" }
            if self.chance(self.strangeness) {
                name = self.pick(["+1", "01", "-0", "1.0", "x", "", "e\u{301}", "é", " 1"])
            }
            members.append((name, self.text(for: value)))
        }
        return self.object(members)
    }

    private mutating func range(_ range: ContentRange, _ bound: ContentScalar) -> String {
        let isPair = range == .range || range == .closedRange
        if isPair, bound.rawValue != "String", self.chance(700) {
            return self.pick(["[1,2]", "[1,1.0]", "[0,10,3]", "[-5,7e1]"])
        }
        var parts = [self.text(for: bound)]
        if isPair { parts.append(self.text(for: bound)) }
        if self.chance(self.strangeness) { parts.removeLast() }
        if self.chance(self.strangeness) { parts.append("null") }
        return "[" + parts.joined(separator: ",") + "]"
    }

    private mutating func list(_ element: (inout ValueGenerator) -> String) -> String {
        let count = self.depth > 10 ? 0 : self.below(4)
        return (0..<count).map { _ in element(&self) }.joined(separator: ",")
    }

    // MARK: - Scalars

    private mutating func text(for scalar: ContentScalar) -> String {
        switch scalar {
        case .bool: return self.pick(["true", "false"])
        case .string: return self.quoted(self.pick(Self.texts))
        case .float, .double, .cgFloat, .date:
            return self.chance(self.strangeness * 3)
                ? self.pick(Self.numbers) : self.pick(["0", "1.5", "-2", "761195550.25"])
        case .decimal:
            return self.chance(300) ? self.pick(Self.numbers) : self.pick(["0.1", "12", "-3.50", "1e10"])
        case .data:
            return self.quoted(self.chance(500 + self.strangeness) ? self.base64() : "AQID")
        case .url:
            return self.quoted(self.chance(self.strangeness * 4) ? self.address() : "https://a.b/c?d=e#f")
        case .uuid:
            return self.quoted(self.chance(self.strangeness * 2) ? self.pick(Self.uuids) : Self.uuids[0])
        case .duration: return self.pick(["[0,5]", "[-1,18446744073709551615]", "[1]", "[0,-1]"])
        case .cgPoint, .cgSize:
            return self.chance(900) ? "[1,2.5]" : self.pick(["[1]", "[1,2,3]", "{}", "[1,null]", "[]"])
        case .cgRect: return self.chance(900) ? "[[1,2],[3,4]]" : self.pick(["[[1,2]]", "[1,2,3,4]", "[[1,2],[3]]"])
        default:
            if self.chance(self.strangeness * 3) { return self.chance(500) ? self.pick(Self.numbers) : self.number() }
            return self.pick(["0", "1", "7", "100", "1.0", "1e2", "-0", "12.00"])
        }
    }

    /// Values at the edges of every type.
    static let numbers: [String] = {
        var numbers = [
            "-1", "1.5", "0.5", "1e2", "100E-2", "1E+2", "-0.0", "0e5", "0e1", "-0e1", "0.0e1", "0.00e1", "0e10",
            "0E-9",
            "1e18", "1e19", "1e20", "1e38", "1e39", "3.5e38", "3.4028235e38", "3.4028236e38", "1e308", "1e309", "1e400",
            "-1e400", "1e-45", "1e-46", "1e-37", "5e-324", "2e-324", "1e-400", "0.1e-400", "1.7976931348623157e308",
            "1.0000000000000000000001", "0.99999999999999999999", "9007199254740992.5", "9007199254740993.5",
            "9007199254740993.0", "12345678901234567.25", "123456789012345678.25", "9223372036854775807.0",
            "9223372036854774784.0", "-9223372036854775808.0", "-9223372036854774784.0", "18446744073709551615.0",
            "18446744073709549568.0", "1e128", "1e127", "1e-127", "1e-128", "1e-129", "1e165", "1e166", "10e127",
            "0.1e128",
            "340282366920938463463374607431768211455.5", "3402823669209384634633746074317682114551",
            "0.3402823669209384634633746074317682114551", "1234567890123456789012345678901234567890123456789",
            "0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
            "1739502750", "1739502750000", "30000000000000000000000e-22", "1.0e0", "99999999999999999999e-20",
            "1e255", "1e254", "0e255", "0e254", "0e128", "0.0e-128", "1e00000000000000000002", "1E-2", "300", "70000",
        ]
        for power in [7, 8, 15, 16, 31, 32, 53, 63, 64, 127] {
            let edge = UInt128(1) << power
            for value in [edge - 1, edge, edge + 1] {
                numbers += ["\(value)", "-\(value)", "\(value).0", "\(value)e0"]
            }
        }
        let largest = UInt128.max
        return numbers + ["\(largest)", "340282366920938463463374607431768211456", "-\(largest)", "\(largest).0"]
    }()

    private mutating func number() -> String {
        var text = self.chance(300) ? "-" : ""
        let digits = 1 + self.below(24)
        text += "\(1 + self.below(9))" + (1..<digits).map { _ in "\(self.below(10))" }.joined()
        if self.chance(500) {
            text += "." + (0...self.below(20)).map { _ in "\(self.chance(600) ? 0 : self.below(10))" }.joined()
        }
        if self.chance(300) { text += "e\(self.pick(["", "-", "+"]))\(self.below(30))" }
        return text
    }

    private static let texts = [
        "", "a", "é", "e\u{301}", "😀", "a/b", "line\nfeed", "quote\"", "\\", "\u{7F}", "\u{FEFF}", "waiting", "1",
        "true",
        "2024-02-23T14:30:00Z", "on the road",
    ]

    static let uuids = [
        "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f",
        "e621e1f8c36c495a93fc0c247a3e6e5f",
        "{E621E1F8-C36C-495A-93FC-0C247A3E6E5F}", "", "x", "E621E1F8-C36C-495A-93FC-0C247A3E6E5",
        " 621E1F8-C36C-495A-93FC-0C247A3E6E5F",
        "E621E1F8-C36C-495A-93FC-0C247A3E6E5G", "E621E1F8-C36C-495A-93FC-0C247A3E6E5FF",
        "E621E1F8-C36C-495A-93FC-0C247A3E6E5F ",
        "E621E1F8C-36C-495A-93FC-0C247A3E6E5F", "+621E1F8-C36C-495A-93FC-0C247A3E6E5F",
        "0x21E1F8-C36C-495A-93FC-0C247A3E6E5F",
        "E621E1F8-C36C-495A-93FC-0C247A3E6Eé",
    ]

    private mutating func base64() -> String {
        if self.chance(400) {
            return self.pick(
                [
                    "", "=", "==", "===", "====", "A===", "AA==", "AB==", "AAA=", "AAB=", "AQI", "-_8=", "AQ ID",
                    "AQID\n",
                    "A=B=", "AA=A", "AAAA====", "AAAAA===", "zz!!", "AQIDé", "AQ==AQ==", "AAAA==", "=AAA", "AA=",
                    "AQI\u{0}D",
                ].filter { !$0.contains("\u{0}") }
            )
        }
        return (0..<self.below(13)).map { _ in self.pick(["A", "Q", "z", "0", "9", "+", "/", "=", "A", "b", "B", "C"]) }
            .joined()
    }

    private mutating func address() -> String {
        if self.chance(500) { return self.pick(Self.addresses) }
        let parts = [
            "http", ":", "//", "/", "?", "#", "[", "]", "@", "%", "%20", " ", "a", "b.c", "1", "80", "::1", "tel", "-",
            "+", "\\",
            "\"", "<", "é", "mailto", "..", "&", "=", "^", "|", "%zz", "fe80", "%25",
        ]
        return (0...self.below(8)).map { _ in self.pick(parts) }.joined()
    }

    static let addresses = [
        "", " ", "a b", "http://a b/", "game:///panda", "/rel/path", "%", "%zz", "http://[::1", "http://[::1]",
        "http://[::1]:80/",
        "http://[::1]x", "http://[::1]:x", "http://a:80", "http://a:", "http://a:b", "http://a:80b/",
        "http://u:p@h:1/p",
        "http://u@v@h/", "1http://a", "ht tp://a", "://a", ":", "a:", "1:", "a:b", "//", "///", "//a", "//a b",
        "http://", "http:///",
        "http://a%20b/", "http://a%2/", "http://a%zz/", "tel:+1 2", "tel://a b", "addressbook://a:b", "http://例え.jp/",
        "https://bücher.example/ü?ü#ü", "http://a_b.c/", "http://-a-/", "http://a..b/", "http://😀.com/", "http://a\\b/",
        "http://a^b/",
        "http://a|b", "http://a\"b", "http://<a>/", "mailto:a@b.c", "data:text/plain,a b", "file:///a b", "a?b c",
        "a#b#c", "?", "#",
        "http://[fe80::1%25en0]/", "http://[fe80::1%en0]/", "http://[a b]/", "http://[]/", "http://[%]/", "http://[é]/",
        "[", "]",
        "@", "a@b:c", "[a]:1", "http://a:99999999999999999999/", "http://@/", "http://:80/", "http://:@/", "é:a",
        "a-b+c.d:x", "-a:x",
        ".:x", "a/b:c", "a b:c", "http:a b", "http://a/%", "x://[::1]:/", "http://xn--a", "http://xn--/", "\u{7F}",
        "http://a\u{7F}/",
        "http://\u{3002}/", "http://ａ.com/", "http://a\u{301}.com/", "http://\u{AD}/", "http://\u{2028}/",
    ]

    /// Any JSON value.
    private mutating func anything() -> String {
        switch self.below(9) {
        case 0: return "null"
        case 1: return self.pick(["true", "false"])
        case 2: return self.pick(Self.numbers)
        case 3: return self.quoted(self.pick(Self.texts + Self.uuids))
        case 4: return "[]"
        case 5: return "{}"
        case 6: return "[\(self.pick(["null", "1", "\"a\"", "[1]", "{}", "true"]))]"
        case 7: return "{\"\(self.pick(["a", "_0", "1", "b"]))\":\(self.pick(["null", "1", "\"a\"", "{}", "[1]"]))}"
        default: return "\"\(self.below(100))\""
        }
    }

    // MARK: - Chance

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    private mutating func below(_ bound: Int) -> Int {
        Int(self.next() % UInt64(bound))
    }

    private mutating func chance(_ ofThousand: UInt64) -> Bool {
        self.next() % 1000 < ofThousand
    }

    private mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[self.below(choices.count)]
    }

    private mutating func quoted(_ text: String) -> String {
        var quoted = "\""
        let escapes = self.chance(100)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20 || (escapes && scalar.value < 0x7F):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
