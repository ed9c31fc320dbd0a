import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("OfflinePushInfo", .timeLimit(.minutes(5)))
struct OfflinePushInfoTests {
    /// `Field Code` of each warning of the answer to a push with these fields, and the order.
    private static func send(_ fields: String) async throws -> (warnings: Set<String>, order: PushOrder) {
        let backend = Backend()
        let answer = try await backend.send(ValidRequest.push(fields))
        #expect(answer["ErrorCode"]?.integer == 0, "\(answer["ErrorInfo"]?.string ?? "")")
        let warnings = (answer["Warnings"]?.elements ?? []).map { warning in
            let field = warning["Field"]?.string ?? ""
            #expect(field.hasPrefix("OfflinePushInfo."))
            return field.dropFirst("OfflinePushInfo.".count) + " " + (warning["Code"]?.string ?? "")
        }
        return (Set(warnings), try #require(backend.gateway.orders.last))
    }

    private static let activity = #""LiveActivity":{"LaId":"a","Event":"update","ContentState":{}}"#

    // MARK: - Badges

    @Test(
        "BadgeSetNum goes before BadgeAddNum, that before BadgeMode, and a chat message counts 1",
        arguments: [
            ("", .add(1), []), (#""ApnsInfo":{}"#, .add(1), []), (#""ApnsInfo":{"BadgeMode":0}"#, .add(1), []),
            (#""ApnsInfo":{"BadgeMode":1}"#, .unchanged, []), (#""ApnsInfo":{"BadgeMode":"1"}"#, .unchanged, []),
            (#""BadgeAddNum":1"#, .add(1), []), (#""BadgeAddNum":"99","ApnsInfo":{"BadgeMode":1}"#, .add(99), []),
            (#""BadgeSetNum":0"#, .set(0), []), (#""BadgeSetNum":"999","ApnsInfo":{"BadgeMode":1}"#, .set(999), []),
            (#""BadgeSetNum":7,"BadgeAddNum":3"#, .set(7), ["BadgeAddNum field_ignored"]),
        ] as [(String, BadgeChange, Set<String>)],
    )
    func badge(fields: String, expected: BadgeChange, warned: Set<String>) async throws {
        let (warnings, order) = try await Self.send(fields)
        #expect(order.notification.badge == expected)
        #expect(warnings == warned)
    }

    @Test(
        "a pure push changes no badge unless a field says so",
        arguments: [(true, BadgeChange.add(1)), (false, .unchanged)]
    )
    func badgeOfEndpoint(countsOnBadge: Bool, expected: BadgeChange) throws {
        for (fields, badge) in [("{}", expected), (#"{"ApnsInfo":{"BadgeMode":0}}"#, .add(1))] {
            var warnings: [RequestWarning] = []
            let value = try JSONDocument(parsing: Array(fields.utf8)).root
            let push = try OfflinePushInfo(decoding: value, now: 0, countsOnBadge: countsOnBadge, &warnings)
            #expect(push.badge == badge)
        }
    }

    @Test(
        "timpush/batch changes no badge unless a field says so",
        arguments: [("", BadgeChange.unchanged), (#","BadgeAddNum":2"#, .add(2))]
    )
    func badgeOfPush(fields: String, expected: BadgeChange) async throws {
        let backend = Backend()
        let body =
            #"{"From_Account":"a","To_Account":["b"],"MsgRandom":1,"OfflinePushInfo":{"Title":"T""# + fields + "}}"
        let answer = try await backend.post("timpush/batch", body)
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(backend.gateway.orders.first?.notification == NotificationContent(title: "T", badge: expected))
    }

    @Test("a message without OfflinePushInfo counts 1")
    func badgeWithoutPush() async throws {
        let order = try await Backend().order(ValidRequest.minimal(ValidRequest.text))
        #expect(order.notification == NotificationContent(body: "hello", badge: .add(1)))
    }

    // MARK: - Languages

    @Test("translations are kept as they came; ApnsInfo.Title takes the place of Title, not of theirs")
    func translations() async throws {
        let (warnings, order) = try await Self.send(
            #"""
            "Title":"T","MultiLanguageContent":[{"Language":"de","Title":"TT","Desc":"DD"},{"Language":"zh_TW","Title":""}],
            "ApnsInfo":{"Title":"A"}
            """#
        )
        #expect(warnings.isEmpty)
        let shown = ["de", "zh-Hant", "en"].map { language in
            order.notification.translated(by: order.notification.translation(for: language))
        }
        #expect(shown.map(\.title) == ["TT", "A", "A"])
        #expect(shown.map(\.body) == ["DD", "hello", "hello"])
        #expect(shown.map(\.badge) == [.add(1), .add(1), .add(1)])
    }

    @Test("a Language of 64 bytes holds")
    func longLanguage() async throws {
        let language = String(repeating: "é", count: 32)
        let (_, order) = try await Self.send(#""MultiLanguageContent":[{"Language":""# + language + #""}]"#)
        #expect(order.notification.translations == [NotificationTranslation(language: language)])
    }

    @Test("C83: a translation that is too long is cut, and the caller is told which")
    func longTranslation() async throws {
        let long = String(repeating: "x", count: 4096)
        let (warnings, order) = try await Self.send(
            #""Desc":"D","MultiLanguageContent":[{"Language":"de"},{"Language":"fr","Desc":""# + long + #""}]"#
        )
        #expect(warnings == ["MultiLanguageContent[1] text_cut"])
        #expect(order.notification.translations.last?.body == long)
    }

    @Test("C83: the text must leave room for the widest badge, unless the badge stays", arguments: [0, 1])
    func roomForBadge(badgeMode: Int) async throws {
        let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count + (badgeMode == 0 ? #","badge":99999"#.utf8.count : 0)
        for (excess, expected) in [(0, []), (1, ["Desc text_cut"])] as [(Int, Set<String>)] {
            let text = String(repeating: "x", count: 4096 - frame + excess)
            let (warnings, _) = try await Self.send(
                #""Desc":""# + text + #"","ApnsInfo":{"BadgeMode":\#(badgeMode)}"#
            )
            #expect(warnings == expected)
        }
    }

    @Test("an end without Title and Desc is told of only in the languages that have a text")
    func endInLanguages() async throws {
        let end = #""ApnsInfo":{"SubTitle":"S","LiveActivity":{"LaId":"a","Event":"end","ContentState":{}}}"#
        let (_, silent) = try await Self.send(end)
        #expect(silent.notification.isNothing)
        let (_, order) = try await Self.send(#""MultiLanguageContent":[{"Language":"de","Title":"Da"}],"# + end)
        #expect(!order.notification.isNothing)
        #expect(order.notification.translated(by: nil).isEmpty)
        #expect(order.notification.translated(by: 0).title == "Da")
    }

    // MARK: - Silent and VoIP pushes

    @Test("ContentAvailable 1 shows nothing: Ext alone goes along, and what was left out is warned of")
    func silent() async throws {
        let (warnings, order) = try await Self.send(
            #"""
            "Title":"T","Desc":"D","Ext":"x","BadgeAddNum":3,"ApnsInfo":{"ContentAvailable":"1","Sound":"s.caf",
            "MutableContent":1,"BadgeMode":0}
            """#
        )
        #expect(order.notification == NotificationContent(ext: "x", isSilent: true))
        #expect(
            warnings == [
                "Title field_ignored", "Desc field_ignored", "BadgeAddNum field_ignored",
                "ApnsInfo.Sound field_ignored", "ApnsInfo.MutableContent field_ignored",
            ]
        )
    }

    @Test("a silent push needs no text, and asks for no nickname")
    func silentWithoutText() async throws {
        let backend = Backend()
        let custom = #"{"MsgType":"TIMCustomElem","MsgContent":{"Data":"d","Ext":"e","Desc":"t"}}"#
        let more = #","OfflinePushInfo":{"ApnsInfo":{"ContentAvailable":1}}"#
        let answer = try await backend.send(ValidRequest.minimal(custom, more: more))
        #expect(answer["Warnings"] == nil)
        #expect(backend.gateway.orders.first?.notification == NotificationContent(isSilent: true))
        #expect(backend.gateway.nicknameLookups == 0)
    }

    @Test("an Ext that is too long for a silent push is refused")
    func silentTooLong() async throws {
        let ext = String(repeating: "x", count: 4090)
        let fields = #""Ext":""# + ext + #"","ApnsInfo":{"ContentAvailable":1}"#
        try await Backend().expectRefusal(
            "openim/sendmsg",
            ValidRequest.push(fields),
            code: 90043,
            field: "OfflinePushInfo: ",
        )
    }

    @Test(
        "LiveActivity goes before IsVoipPush, that before ContentAvailable, and what is left out is warned of",
        arguments: [
            (#""ContentAvailable":1,"# + activity, ["ApnsInfo.ContentAvailable field_ignored"]),
            (#""IsVoipPush":1,"# + activity, ["ApnsInfo.IsVoipPush field_ignored"]),
            (#""IsVoipPush":"1""#, ["ApnsInfo.IsVoipPush field_not_supported"]),
            (
                #""IsVoipPush":1,"ContentAvailable":1"#,
                ["ApnsInfo.IsVoipPush field_not_supported", "ApnsInfo.ContentAvailable field_ignored"]
            ),
            (#""IsVoipPush":0,"ContentAvailable":0,"# + activity, []),
        ] as [(String, Set<String>)],
    )
    func precedence(fields: String, expected: Set<String>) async throws {
        let (warnings, order) = try await Self.send(#""Title":"T","ApnsInfo":{"# + fields + "}")
        #expect(warnings == expected)
        #expect(order.notification == NotificationContent(title: "T", body: "hello", badge: .add(1)))
        #expect((order.activity != nil) == fields.contains("LaId"))
    }

    @Test("a template is not acted on, and that is said")
    func template() async throws {
        let (warnings, _) = try await Self.send(#""Desc":"D","PushTemplateId":"1-1","PushTemplateParam":{"a":1}"#)
        #expect(warnings == ["PushTemplateId field_not_supported"])
    }

    // MARK: - Other platforms

    @Test("AndroidInfo and HarmonyInfo are kept byte for byte, unknown keys included; without them nothing is")
    func otherPlatforms() async throws {
        let android = #"{ "New":[1.0,"\u00e9"],"PushStyle":"1" }"#
        let (warnings, order) = try await Self.send(#""AndroidInfo":"# + android)
        #expect(warnings.isEmpty)
        #expect(order.otherPlatforms == Array((#"{"AndroidInfo":"# + android + "}").utf8))
        let (_, plain) = try await Self.send(#""Desc":"D""#)
        #expect(plain.otherPlatforms == nil)
    }

    @Test(
        "a value that Tencent does not know is a warning, not a refusal",
        arguments: [
            (#""AndroidInfo":{"PushStyle":2}"#, "AndroidInfo.PushStyle"),
            (#""AndroidInfo":{"OPPONotifyLevel":3,"OPPOCategory":"c"}"#, "AndroidInfo.OPPONotifyLevel"),
            (#""AndroidInfo":{"OPPONotifyLevel":1}"#, "AndroidInfo.OPPONotifyLevel"),
            (#""AndroidInfo":{"VIVOClassification":"2"}"#, "AndroidInfo.VIVOClassification"),
            (#""AndroidInfo":{"VIVONotifyType":"5"}"#, "AndroidInfo.VIVONotifyType"),
            (#""AndroidInfo":{"VIVONotifyType":0}"#, "AndroidInfo.VIVONotifyType"),
            (#""AndroidInfo":{"HuaWeiImportance":"HIGH"}"#, "AndroidInfo.HuaWeiImportance"),
            (#""AndroidInfo":{"HonorImportance":"low"}"#, "AndroidInfo.HonorImportance"),
            (#""AndroidInfo":{"GooglePriority":"High"}"#, "AndroidInfo.GooglePriority"),
            (#""AndroidInfo":{"MeiZuNoticeMsgType":-1}"#, "AndroidInfo.MeiZuNoticeMsgType"),
            (#""AndroidInfo":{"ExtAsHuaweiIntentParam":2}"#, "AndroidInfo.ExtAsHuaweiIntentParam"),
            (#""HarmonyInfo":{"Sound":"s","SoundDuration":61}"#, "HarmonyInfo.SoundDuration"),
            (#""HarmonyInfo":{"Sound":"s","SoundDuration":"0"}"#, "HarmonyInfo.SoundDuration"),
            (#""HarmonyInfo":{"SoundDuration":1}"#, "HarmonyInfo.SoundDuration"),
        ],
    )
    func unknownValues(fields: String, field: String) async throws {
        let (warnings, order) = try await Self.send(fields)
        #expect(warnings == [field + " unknown_value"])
        #expect(order.otherPlatforms == Array(("{" + fields + "}").utf8))
    }

    @Test(
        "the values that Tencent knows are no reason for a warning",
        arguments: [
            #""VIVONotifyType":"1""#, #""VIVONotifyType":4"#, #""HuaWeiImportance":"LOW""#, #""GooglePriority":"high""#,
            #""HonorImportance":"NORMAL""#, #""OPPOCategory":"c","OPPONotifyLevel":2"#, #""HuaWeiChannelID":7"#,
        ],
    )
    func knownValues(fields: String) async throws {
        #expect(try await Self.send(#""AndroidInfo":{"# + fields + "}").warnings.isEmpty)
    }
}
