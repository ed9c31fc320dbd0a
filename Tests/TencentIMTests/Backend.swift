import ContentSchema
import Gateway
import HTTPServer
import Testing
import VerbatimJSON

@testable import TencentIM

/// A chat backend that calls the API in memory.
struct Backend {
    let gateway = InMemoryGateway()
    private let api: TencentIMAPI

    init() {
        api = TencentIMAPI(gateway: gateway, logger: nil)
    }

    static let userSig = UserSig.make(
        identifier: "administrator",
        sdkAppID: InMemoryGateway.sdkAppID,
        secretKey: InMemoryGateway.secretKey,
        now: InMemoryGateway.time,
    )

    static let query = [
        "sdkappid=\(InMemoryGateway.sdkAppID)", "identifier=administrator", "usersig=\(userSig)", "random=99999999",
        "contenttype=json",
    ].joined(separator: "&")

    /// Gives the app a schema of a type `Ride` whose ContentState has these fields.
    func setSchema(_ fields: String) throws {
        let model = """
            {"format": 1, "attributesType": "Ride", "attributes": "A", "contentState": "S",
             "types": {"A": {"fields": []}, "S": {"fields": [\(fields)]}}}
            """
        let schema = StoredSchema(
            version: 1,
            fromAppVersion: nil,
            schema: try ActivitySchema(parsing: Array(model.utf8)),
        )
        gateway.app.contentSchemas = ContentSchemas(rules: ContentRules(), types: ["Ride": [schema]])
    }

    func respond(
        _ path: String,
        _ body: String,
        query: String? = Backend.query,
        method: String = "POST",
    ) async -> HTTPResponse {
        await api.respond(
            to: HTTPRequest(
                method: method,
                path: "/v4/" + path,
                query: query,
                headers: [:],
                body: Array(body.utf8),
                remoteAddress: "127.0.0.1",
            )
        )
    }

    /// The answer's body. Fails if it is not HTTP 200 with the three fields that every answer has.
    func post(_ path: String, _ body: String, query: String? = Backend.query) async throws -> JSONValue {
        let response = await respond(path, body, query: query)
        #expect(response.status == 200)
        let answer = try JSONDocument(parsing: response.body).root
        #expect(answer["ActionStatus"]?.string != nil)
        #expect(answer["ErrorInfo"]?.string != nil)
        #expect(answer["ErrorCode"]?.integer != nil)
        return answer
    }

    func send(_ body: String) async throws -> JSONValue {
        try await post("openim/sendmsg", body)
    }

    func sendBatch(_ body: String) async throws -> JSONValue {
        try await post("openim/batchsendmsg", body)
    }

    /// Sends a message that is accepted, and returns what the gateway was asked to do.
    func order(_ body: String) async throws -> PushOrder {
        let answer = try await send(body)
        #expect(answer["ErrorCode"]?.integer == 0, "\(answer["ErrorInfo"]?.string ?? "")")
        return try #require(gateway.orders.last)
    }

    /// Sends a message that is refused with this code, its ErrorInfo beginning with `path`; the gateway gets nothing.
    func expectRefusal(
        _ path: String,
        _ body: String,
        code: Int64,
        field: String,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async throws {
        let answer = try await post(path, body)
        #expect(answer["ActionStatus"]?.string == "FAIL", sourceLocation: sourceLocation)
        #expect(answer["ErrorCode"]?.integer == code, sourceLocation: sourceLocation)
        let info = try #require(answer["ErrorInfo"]?.string)
        #expect(info.hasPrefix(field), "\(info)", sourceLocation: sourceLocation)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode"], sourceLocation: sourceLocation)
        #expect(gateway.orders.isEmpty, sourceLocation: sourceLocation)
    }
}

/// The names of an object's members.
func keys(of object: JSONValue) -> Set<String> {
    Set(object.members.map(\.key))
}

/// `Code` of each warning of an answer.
func warnings(of answer: JSONValue) -> [String] {
    (answer["Warnings"]?.elements ?? []).compactMap { $0["Code"]?.string }
}

extension String {
    /// The text with its one occurrence of `part` replaced. Fails if there is none, so that no case tests nothing.
    func breaking(_ part: String, _ replacement: String) throws -> String {
        try #require(contains(part), "there is no \(part) to break")
        return replacing(part, with: replacement)
    }
}

/// Requests that are right in every field.
enum ValidRequest {
    static let state =
        #"{"a":0.1,"b":129.9,"c":68.32,"d":5.02,"e":1.0,"f":100,"g":9007199254740993,"h":1e2,"i":-0.0,"j":0.10000000000000001,"u":"\u00e9 é 👨‍👩‍👧","s":"a/b"}"#

    /// `sendmsg` with every documented field.
    static let single = """
        {"SyncOtherMachine":2,"From_Account":"shop","To_Account":"alice","OnlineOnlyFlag":0,"MsgLifeTime":60,\
        "MsgSeq":93847636,"MsgRandom":1287657,"MsgTimeStamp":1557387418,\
        "ForbidCallbackControl":["ForbidBeforeSendMsgCallback"],"SendMsgControl":["NoUnread"],\
        "MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"hi, beauty"}}],"CloudCustomData":"cloud",\
        "SupportMessageExtension":0,"IsNeedReadReceipt":1,"OfflinePushInfo":\(push)}
        """

    /// `batchsendmsg` to two accounts.
    static let batch = """
        {"To_Account":["alice","bob"],"MsgRandom":1287657,"MsgSeq":7,\
        "MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"hi"}}],"OfflinePushInfo":\(push)}
        """

    /// `timpush/batch` with every documented field.
    static let pushBatch = """
        {"From_Account":"shop","To_Account":["alice","bob"],"MsgRandom":1287657,"DataId":"data-1",\
        "OfflinePushInfo":\(push)}
        """

    /// What is kept for other platforms of a request with every field.
    static let otherPlatforms = """
        {"AndroidInfo":{"Sound":"ding","PushStyle":0,"OPPOCategory":"NOTICE","OPPONotifyLevel":16,"VIVOClassification":"1","VIVONotifyType":"4",\
        "MeiZuNoticeMsgType":0,"ExtAsHuaweiIntentParam":1,"OPPOPrivateTitleParameters":{},"OPPOPrivateContentParameters":{}},\
        "HarmonyInfo":{"Title":"t","Sound":"s","SoundDuration":30}}
        """

    static let push = """
        {"PushFlag":0,"Title":"Order","Desc":"On its way","Ext":"{\\"n\\":1}","BadgeSetNum":5,\
        "PushTemplateParam":{},\
        "MultiLanguageContent":[{"Language":"de","Title":"Bestellung","Desc":"Unterwegs"},{"Language":"fr"}],\
        \(otherPlatforms.dropFirst().dropLast()),\
        "ApnsInfo":{"Sound":"ding.caf","BadgeMode":1,"Title":"Your order","SubTitle":"Pizza","Image":"https://a.b/c.png",\
        "MutableContent":1,"InterruptionLevel":"time-sensitive","ContentAvailable":0,"IsVoipPush":0,\
        "LiveActivity":{"LaId":"order-1","Event":"end","ContentState":\(state),"DismissalDate":1796007772}}}
        """

    /// `sendmsg` of a text with these fields in OfflinePushInfo.
    static func push(_ fields: String) -> String {
        minimal(text, more: #","OfflinePushInfo":{"# + fields + "}")
    }

    /// `sendmsg` with nothing but what it must have, and this element.
    static func minimal(_ elements: String, more: String = "") -> String {
        #"{"To_Account":"alice","MsgRandom":1,"MsgBody":["# + elements + "]" + more + "}"
    }

    static let text = #"{"MsgType":"TIMTextElem","MsgContent":{"Text":"hello"}}"#

    /// `sendmsg` with a Live Activity and nothing to fall back to but the text of MsgBody.
    static func activity(_ fields: String, push: String = "") -> String {
        minimal(text, more: #","OfflinePushInfo":{"# + push + #""ApnsInfo":{"LiveActivity":{"# + fields + "}}}")
    }
}
