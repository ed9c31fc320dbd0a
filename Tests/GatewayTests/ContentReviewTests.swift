import ContentSchema
import LiveActivity
import Testing

@testable import Gateway

@Suite("Review of content by schemas", .timeLimit(.minutes(5)))
struct ContentReviewTests {
    private static func schema(
        _ fields: String,
        type: String = "Ride",
        version: Int64 = 1,
        from appVersion: String? = nil,
        attributes: String = "",
    ) throws -> StoredSchema {
        let model = """
            {"format": 1, "attributesType": "\(type)", "attributes": "A", "contentState": "S",
             "types": {"A": {"fields": [\(attributes)]}, "S": {"fields": [\(fields)]}}}
            """
        return StoredSchema(
            version: version,
            fromAppVersion: appVersion.flatMap { AppVersion($0) },
            schema: try ActivitySchema(parsing: Array(model.utf8)),
        )
    }

    /// Version 1 has `n`; version 2, from 2.0 on, `text` as well.
    private static func schemas(
        _ policy: ContentRules.Policy = .reject,
        converts: Bool = false,
        others: [String: [StoredSchema]] = [:],
    ) throws -> ContentSchemas {
        let number = #"{"key": "n", "type": "Int?"}, {"key": "at", "type": "Date?"}"#
        let text = #"{"key": "text", "type": "String"}"#
        let versions = [
            try Self.schema(number), try Self.schema("\(number), \(text)", version: 2, from: "2.0"),
        ]
        let rules = ContentRules(policy: policy, convertsDates: converts)
        return try #require(ContentSchemas(rules: rules, types: others.merging(["Ride": versions]) { $1 }))
    }

    private static func content(_ state: String) -> ActivityContent {
        ActivityContent(event: .update, contentState: Array(state.utf8))
    }

    private static func phone(_ appVersion: String?, _ type: String? = "Ride", count: Int64 = 1)
        -> ContentReview.PhoneVersion
    {
        ContentReview.PhoneVersion(attributesType: type, appVersion: appVersion, count: count)
    }

    private static func review(
        _ state: String,
        _ phones: [ContentReview.PhoneVersion],
        by schemas: ContentSchemas,
    ) -> ContentReview {
        ContentReview(Self.content(state), for: phones, by: schemas, now: Fixture.accepted.seconds)
    }

    @Test(
        "C77: content is refused only where every phone has a version that it does not fit",
        arguments: [
            ([phone("1.0")], nil, []), ([phone("2.0")], ".text", []), ([phone("1.0"), phone("2.0")], nil, [".text"]),
            ([phone("2.0"), phone("3.0")], ".text", []), ([phone(nil)], ".text", []),
            ([phone("2.0", nil)], ".text", []),
            // Of a type without schema nothing is known.
            ([phone("2.0"), phone("2.0", "Other")], nil, [".text"]), ([phone("2.0", "Other")], nil, []),
            // Nobody may get it; a phone that registers later may.
            ([], nil, [".text"]),
        ] as [([ContentReview.PhoneVersion], String?, [String])],
    )
    func versions(phones: [ContentReview.PhoneVersion], refused: String?, warned: [String]) throws {
        let review = Self.review(#"{"n":1}"#, phones, by: try Self.schemas())
        #expect(review.refusal?.place == refused)
        #expect(review.warnings.map(\.place) == warned)
        let isUnknownSomewhere = phones.contains { $0.attributesType == "Other" }
        #expect(review.isBySchema == !isUnknownSomewhere)
    }

    @Test(
        "The policy decides what is said of phones that cannot decode it",
        arguments: [
            (.reject, "2 phones have version 2 of Ride, nothing is sent to them"),
            (.fallback, "2 phones have version 2 of Ride, a notification takes its place"),
            (.warn, "2 phones have version 2 of Ride, it is sent all the same"),
        ] as [(ContentRules.Policy, String)]
    )
    func policies(policy: ContentRules.Policy, words: String) throws {
        let review = Self.review("{}", [Self.phone("1.0"), Self.phone("2.0", count: 2)], by: try Self.schemas(policy))
        #expect(review.refusal == nil)
        #expect(review.warnings.map(\.message) == ["String is missing; \(words)"])
        let all = Self.review("{}", [Self.phone("2.0")], by: try Self.schemas(policy))
        #expect((all.refusal == nil) == (policy != .reject))
    }

    @Test("C60: a misread date is a fault, or is converted and told")
    func dates() throws {
        let state = #"{"at":1796007172}"#
        let refused = Self.review(state, [Self.phone("1.0")], by: try Self.schemas())
        #expect(refused.refusal?.code == .dateAsUnixSeconds)
        #expect(refused.refusal?.message.contains("for that date send 817699972") == true)
        let converted = Self.review(state, [Self.phone("1.0")], by: try Self.schemas(converts: true))
        #expect(converted.refusal == nil)
        #expect(converted.warnings.map(\.code) == [.dateAsUnixSeconds])
    }

    @Test(
        "Without a phone a start is compared with the type that it names, and other events with each of the app's",
        arguments: [
            (nil, #"{"text":"x"}"#, nil), (nil, #"{"home":1}"#, nil),
            // Two faults by Match, one by Ride.
            (
                nil, #"{"home":"1","away":"1","text":7}"#,
                ".text: it fits no type of the app, and version 2 of Ride best"
            ),
            ("Match", #"{"text":"x"}"#, ".home: that is version 1 of Match"), ("Match", #"{"home":1}"#, nil),
            ("Ride", #"{"home":1}"#, ".text: that is version 2 of Ride"), ("Other", #"{"x":1}"#, nil),
        ] as [(String?, String, String?)]
    )
    func nobody(type: String?, state: String, told: String?) throws {
        let match = try Self.schema(#"{"key": "home", "type": "Int"}, {"key": "away", "type": "Int?"}"#, type: "Match")
        let schemas = try Self.schemas(others: ["Match": [match]])
        var content = Self.content(state)
        if let type {
            content.event = .start
            content.start = ActivityStart(attributesType: type, attributes: Array("{}".utf8))
        }
        let review = ContentReview(content, for: [], by: schemas, now: Fixture.accepted.seconds)
        #expect(review.refusal == nil)
        #expect(review.warnings.count == (told == nil ? 0 : 1))
        if let told, let notice = review.warnings.first {
            let parts = told.split(separator: ": ", maxSplits: 1)
            #expect(notice.place == parts[0])
            #expect(notice.message.contains(parts[1]), "\(notice.message)")
        }
    }

    @Test("What a schema finds is explained without the member that Pushwoosh's API itself adds")
    func explained() throws {
        var application = Fixture.application()
        let schema = try Self.schema(#"{"key": "step", "type": "Double"}"#)
        application.contentSchemas = ContentSchemas(rules: ContentRules(), types: ["Ride": [schema]])
        var content = Fixture.content(.start)
        let attributes = #"{"more":1,"pushwoosh":{"activityId":"order-7"}}"#
        content.start = ActivityStart(attributesType: "Ride", attributes: Array(attributes.utf8))
        var order = Fixture.order(
            ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .system)
        )
        for (dialect, places) in [
            (PushOrder.Dialect.pushwoosh, [".more"]), (.tencent, [".more", ".pushwoosh"]),
        ] {
            order.dialect = dialect
            let verdict = RecipientExplanation.ContentVerdict(
                try Fixture.message(order, application: application),
                attributesType: "Ride",
                appVersion: nil,
                now: Fixture.accepted,
            )
            #expect(verdict?.word == "fits")
            #expect(verdict?.notices.map(\.place) == places)
        }
    }

    @Test("A member that the type of a start lacks is told, whatever other types have")
    func membersOfTheNamedType() throws {
        let match = try Self.schema(#"{"key": "n", "type": "Int?"}, {"key": "home", "type": "Int?"}"#, type: "Match")
        let ride = try Self.schema(#"{"key": "n", "type": "Int?"}"#)
        let schemas = try #require(ContentSchemas(rules: ContentRules(), types: ["Match": [match], "Ride": [ride]]))
        var content = Self.content(#"{"n":1,"home":1}"#)
        let now = Fixture.accepted.seconds
        #expect(ContentReview(ofFlawless: content, by: schemas, now: now)?.warnings.isEmpty == true)
        content.event = .start
        for (type, places) in [("Match", []), ("Ride", [".home"])] {
            content.start = ActivityStart(attributesType: type, attributes: Array("{}".utf8))
            let review = ContentReview(ofFlawless: content, by: schemas, now: now)
            #expect(review?.warnings.map(\.place) == places)
        }
    }

    @Test(
        "A broadcast is checked by the type that it names, else by each: what fits none is refused",
        arguments: [
            ("Match", #"{"home":1}"#, []), ("Match", #"{"n":1,"text":"x"}"#, ["content_state_unfit .home refusal"]),
            (nil, #"{"x":1}"#, ["content_state_unfit .home refusal"]),
            (nil, #"{"home":1,"text":"x"}"#, []),
            (nil, #"{"home":1}"#, ["attributes_type_missing  warning"]),
            ("Other", "{}", ["attributes_type_unknown  warning"]),
        ] as [(String?, String, [String])]
    )
    func broadcast(type: String?, state: String, found: [String]) throws {
        let match = try Self.schema(#"{"key": "home", "type": "Int"}"#, type: "Match")
        let ride = try Self.schema(#"{"key": "text", "type": "String"}, {"key": "n", "type": "Int"}"#)
        let both = try Self.schema(#"{"key": "home", "type": "Int"}, {"key": "text", "type": "String"}"#, type: "Goal")
        let types =
            state.contains("text") && type == nil
            ? ["Match": [match], "Goal": [both]] : ["Match": [match], "Ride": [ride]]
        let schemas = try #require(ContentSchemas(rules: ContentRules(), types: types))
        let message = ChannelMessage(channelID: "AAAA", content: Self.content(state), attributesType: type)
        let check = ChannelContentCheck(message, by: schemas, now: Fixture.accepted.seconds)
        #expect(check.findings.map { "\($0.code.rawValue) \($0.path) \($0.severity.rawValue)" } == found)
        #expect(check.isBySchema == (type != "Other"))
    }

    @Test("C62: the attributes of a start are checked by the fields of the attributes")
    func attributes() throws {
        let schema = try Self.schema("", attributes: #"{"key": "goal", "type": "String"}"#)
        let schemas = try #require(ContentSchemas(rules: ContentRules(), types: ["Ride": [schema]]))
        var content = Self.content("{}")
        content.event = .start
        content.start = ActivityStart(attributesType: "Ride", attributes: Array(#"{"totalDays":7}"#.utf8))
        let review = ContentReview(content, for: [Self.phone("1.0")], by: schemas, now: 0)
        #expect(review.refusal?.part == .attributes)
        #expect(review.refusal?.place == ".goal")
    }

    @Test(
        "Content that every version takes needs no look at the phones; a member that none has is told",
        arguments: [
            (#"{"n":1,"text":"x"}"#, []), (#"{"n":1,"text":"x","more":1}"#, [".more"]), (#"{"n":1}"#, nil),
            (#"{"n":"1","text":"x"}"#, nil), (#"{"at":1796007172,"text":"x"}"#, nil),
        ] as [(String, [String]?)],
    )
    func flawless(state: String, unknown: [String]?) throws {
        let now = Fixture.accepted.seconds
        let review = ContentReview(ofFlawless: Self.content(state), by: try Self.schemas(), now: now)
        #expect(review?.warnings.map(\.place) == unknown)
        if let review { #expect(review.isBySchema && review.refusal == nil && review.fitsAll != nil) }
        let phones = [Self.phone("1.0"), Self.phone("2.0")]
        let found = Self.review(state, phones, by: try Self.schemas())
        if let unknown { #expect(found.warnings.map(\.place) == unknown) }
    }

    @Test("What is said and recorded holds nothing of the content")
    func secrecy() throws {
        let schema = try Self.schema(#"{"key": "scores", "type": "[String: Int]"}, {"key": "mail", "type": "Bool"}"#)
        let schemas = try #require(ContentSchemas(rules: ContentRules(), types: ["Ride": [schema]]))
        let content = Self.content(#"{"scores":{"secret name":"secret score"},"mail":"secret mail"}"#)
        let review = ContentReview(content, for: [Self.phone("1.0")], by: schemas, now: 0)
        #expect(review.refusal?.place == ".scores{}")
        #expect(review.refusal?.message.contains("secret") == false)
        let checked = CheckedContent(content, by: schema, rules: ContentRules(), now: 0)
        #expect(checked?.misfit == "content_state_refused: content-state.scores{}: Int is expected")
    }

    @Test("A message is checked once for each version, and a phone's own texts are not remembered without end")
    func checksOfAMessage() throws {
        let schemas = try Self.schemas()
        var checks = ContentChecks()
        func check(_ appVersion: String?, _ type: String? = "Ride") -> CheckedContent? {
            checks.check(
                Self.content(#"{"n":1}"#),
                attributesType: type,
                appVersion: appVersion,
                by: schemas,
                now: 0,
            )
        }
        let first = try #require(check("2.0"))
        #expect(first.misfit == "content_state_refused: content-state.text: String is missing")
        for version in 0..<3000 {
            #expect(check("2.\(version)") === first)
            #expect(check("1.\(version)") == nil)
        }
        #expect(check(nil, nil) === first)
        #expect(check("2.0", "Other") == nil)
    }
}
