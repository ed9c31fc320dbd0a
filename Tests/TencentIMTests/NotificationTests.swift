import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("What a notification shows", .timeLimit(.minutes(5)))
struct NotificationTests {
    private static func element(_ type: String, _ content: String = "") -> String {
        #"{"MsgType":""# + type + #"","MsgContent":{"# + content + "}}"
    }

    private static let every = [
        ValidRequest.text, element("TIMLocationElem", #""Desc":"here","Latitude":29.3,"Longitude":106.5"#),
        element("TIMFaceElem", #""Index":6,"Data":"abc""#), element("TIMSoundElem", #""Url":"u","Second":1"#),
        element("TIMFileElem", #""FileName":"f","FileSize":"7""#),
        element("TIMImageElem", #""ImageInfoArray":[{"Type":1}]"#),
        element("TIMVideoFileElem", #""VideoUrl":"u""#), element("TIMRelayElem"),
        element("TIMCustomElem", #""Data":"d","Desc":"custom","Ext":"e","Sound":"s.caf""#),
    ].joined(separator: ",")

    @Test(
        "text derives from each element in order, with nothing between",
        arguments: [
            (.international, "hello[Location][Face][audio][file][image][video]custom"),
            (.chinese, "hello[位置][表情][语音][文件][图片][视频]custom"),
        ] as [(Application.PlaceholderLanguage, String)]
    )
    func derived(language: Application.PlaceholderLanguage, expected: String) async throws {
        let backend = Backend()
        backend.gateway.app.placeholderLanguage = language
        let order = try await backend.order(ValidRequest.minimal(Self.every))
        #expect(order.notification.body == expected)
        #expect(order.notification.title == nil)
    }

    @Test("derived text begins with the sender's nickname; a Desc does not, and asks for none")
    func nickname() async throws {
        let backend = Backend()
        backend.gateway.profiles["administrator"] = AccountProfile(
            account: "administrator",
            nickname: "Pizza",
            faceURL: nil,
        )
        let order = try await backend.order(ValidRequest.minimal(ValidRequest.text))
        #expect(order.notification.body == "Pizza:hello")
        #expect(backend.gateway.nicknameLookups == 1)
        let described = ValidRequest.minimal(ValidRequest.text, more: #","OfflinePushInfo":{"Desc":"D"}"#)
        #expect(try await backend.order(described).notification == NotificationContent(body: "D", badge: .add(1)))
        #expect(backend.gateway.nicknameLookups == 1)
    }

    @Test(
        "where Title, Desc and MsgBody meet",
        arguments: [
            (#""Title":"T","Desc":"D""#, "T", "D"), (#""Title":"T""#, "T", "hello"), (#""Desc":"D""#, nil, "D"),
            ("", nil, "hello"), (#""Title":"","Desc":"""#, nil, "hello"),
            (#""Title":"T","ApnsInfo":{"Title":"A"}"#, "A", "hello"),
            (#""Title":"T","ApnsInfo":{"Title":""}"#, "T", "hello"),
        ] as [(String, String?, String?)]
    )
    func texts(push: String, title: String?, body: String?) async throws {
        let order = try await Backend().order(
            ValidRequest.minimal(ValidRequest.text, more: #","OfflinePushInfo":{"# + push + "}")
        )
        #expect(order.notification == NotificationContent(title: title, body: body, badge: .add(1)))
    }

    @Test("a custom element's Desc, Ext and Sound count without OfflinePushInfo; with it only Desc, as text")
    func customElement() async throws {
        let custom = Self.element("TIMCustomElem", #""Data":"d","Desc":"custom","Ext":"e","Sound":"s.caf""#)
        let alone = try await Backend().order(ValidRequest.minimal(custom))
        #expect(alone.notification == NotificationContent(body: "custom", sound: "s.caf", ext: "e", badge: .add(1)))
        let more = #","OfflinePushInfo":{"Ext":"x"}"#
        let both = try await Backend().order(ValidRequest.minimal(custom, more: more))
        #expect(both.notification == NotificationContent(body: "custom", ext: "x", badge: .add(1)))
        let silent = try await Backend().order(ValidRequest.minimal(Self.element("TIMCustomElem", #""Data":"d""#)))
        #expect(silent.notification.isEmpty)
    }

    @Test("a text that is too long is cut, and the caller is told where")
    func textCut() async throws {
        let long = String(repeating: "é", count: 2100)
        let described = #","OfflinePushInfo":{"Desc":""# + long + #""}"#
        var answer = try await Backend().send(ValidRequest.minimal(ValidRequest.text, more: described))
        #expect(warnings(of: answer) == ["text_cut"])
        #expect(answer["Warnings"]?.elements.first?["Field"]?.string == "OfflinePushInfo.Desc")
        answer = try await Backend().send(
            ValidRequest.minimal(Self.element("TIMTextElem", #""Text":""# + long + #"""#))
        )
        #expect(answer["Warnings"]?.elements.first?["Field"]?.string == "MsgBody")
    }

    @Test("an Ext that leaves no room for text is refused, not cut")
    func extTooLong() async throws {
        let ext = String(repeating: "x", count: 4090)
        try await Backend().expectRefusal(
            "openim/sendmsg",
            ValidRequest.minimal(ValidRequest.text, more: #","OfflinePushInfo":{"Ext":""# + ext + #""}"#),
            code: 90043,
            field: "OfflinePushInfo: ",
        )
        let custom = Self.element("TIMCustomElem", #""Desc":"d","Ext":""# + ext + #"""#)
        try await Backend().expectRefusal(
            "openim/sendmsg",
            ValidRequest.minimal(custom),
            code: 90010,
            field: "MsgBody: ",
        )
    }
}
