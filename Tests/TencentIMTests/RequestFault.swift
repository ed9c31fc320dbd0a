import Testing

/// One thing that is wrong in a request that is right otherwise.
struct RequestFault: Sendable, CustomTestStringConvertible {
    var part: String
    var replacement: String
    var code: Int64
    var field: String

    init(_ part: String, _ replacement: String, _ code: Int64, _ field: String) {
        self.part = part
        self.replacement = replacement
        self.code = code
        self.field = field
    }

    /// Inside OfflinePushInfo, where every fault has one code.
    init(_ part: String, _ replacement: String, _ field: String) {
        self.init(part, replacement, 90043, "OfflinePushInfo." + field)
    }

    var testDescription: String { "\(field) = \(replacement.prefix(60))" }

    /// Outside OfflinePushInfo, of `sendmsg` and `batchsendmsg` alike.
    static let common = [
        RequestFault(#""MsgRandom":1287657,"#, "", 90005, "MsgRandom"),
        RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":"1287657""#, 90005, "MsgRandom"),
        RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":1.5"#, 90005, "MsgRandom"),
        RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":-1"#, 90005, "MsgRandom"),
        RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":4294967296"#, 90005, "MsgRandom"),
        RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":null"#, 90005, "MsgRandom"),
    ]

    /// Outside OfflinePushInfo, in the request with every field.
    static let single = [
        RequestFault(#""To_Account":"alice","#, "", 90003, "To_Account"),
        RequestFault(#""To_Account":"alice""#, #""To_Account":["alice"]"#, 90003, "To_Account"),
        RequestFault(#""To_Account":"alice""#, #""To_Account":1"#, 90003, "To_Account"),
        RequestFault(#""To_Account":"alice""#, #""To_Account":"""#, 90012, "invalid To_Account"),
        RequestFault(
            #""To_Account":"alice""#,
            #""To_Account":""# + String(repeating: "é", count: 64) + #"x""#,
            90012,
            "invalid To_Account",
        ),
        RequestFault(#""From_Account":"shop""#, #""From_Account":1"#, 90008, "From_Account"),
        RequestFault(#""From_Account":"shop""#, #""From_Account":"""#, 90008, "From_Account"),
        RequestFault(#""From_Account":"shop""#, #""From_Account":null"#, 90008, "From_Account"),
        RequestFault(
            #""From_Account":"shop""#,
            #""From_Account":""# + String(repeating: "x", count: 129) + #"""#,
            90008,
            "From_Account",
        ),
        RequestFault(#""MsgSeq":93847636"#, #""MsgSeq":"1""#, 90004, "MsgSeq"),
        RequestFault(#""MsgSeq":93847636"#, #""MsgSeq":4294967296"#, 90004, "MsgSeq"),
        RequestFault(#""MsgTimeStamp":1557387418"#, #""MsgTimeStamp":"now""#, 90006, "MsgTimeStamp"),
        RequestFault(#""SyncOtherMachine":2"#, #""SyncOtherMachine":"2""#, 90031, "SyncOtherMachine"),
        RequestFault(#""MsgLifeTime":60"#, #""MsgLifeTime":-1"#, 90026, "MsgLifeTime"),
        RequestFault(#""MsgLifeTime":60"#, #""MsgLifeTime":-10000000000000000000000"#, 90026, "MsgLifeTime"),
        RequestFault(#""MsgLifeTime":60"#, #""MsgLifeTime":"60""#, 90044, "MsgLifeTime"),
        RequestFault(#""MsgLifeTime":60"#, #""MsgLifeTime":0.5"#, 90044, "MsgLifeTime"),
        RequestFault(#""OnlineOnlyFlag":0"#, #""OnlineOnlyFlag":2"#, 90001, "OnlineOnlyFlag"),
        RequestFault(#""OnlineOnlyFlag":0"#, #""OnlineOnlyFlag":true"#, 90001, "OnlineOnlyFlag"),
        RequestFault(#"["ForbidBeforeSendMsgCallback"]"#, #""x""#, 90001, "ForbidCallbackControl"),
        RequestFault(#"["NoUnread"]"#, "[1]", 90001, "SendMsgControl[0]"),
        RequestFault(#""cloud""#, "{}", 90001, "CloudCustomData"),
        RequestFault(#""IsNeedReadReceipt":1"#, #""IsNeedReadReceipt":"y""#, 90001, "IsNeedReadReceipt"),
        RequestFault(
            #""SupportMessageExtension":0"#,
            #""SupportMessageExtension":[]"#,
            90001,
            "SupportMessageExtension"
        ),
        RequestFault(#""MsgBody":["#, #""Other":["#, 90007, "MsgBody"),
        RequestFault(#""MsgBody":["#, #""MsgBody":"x","Other":["#, 90007, "MsgBody"),
        RequestFault(#""MsgBody":["#, #""MsgBody":[],"Other":["#, 90002, "MsgBody"),
        RequestFault(#""MsgBody":["#, #""MsgBody":[1],"Other":["#, 90010, "MsgBody[0]"),
        RequestFault(#""MsgType":"TIMTextElem","#, "", 90010, "MsgBody[0].MsgType"),
        RequestFault(#""MsgType":"TIMTextElem""#, #""MsgType":1"#, 90010, "MsgBody[0].MsgType"),
        RequestFault(#""MsgType":"TIMTextElem""#, #""MsgType":"TIMOtherElem""#, 90010, "MsgBody[0].MsgType"),
        RequestFault(#""MsgContent":{"Text":"hi, beauty"}"#, #""X":1"#, 90010, "MsgBody[0].MsgContent"),
        RequestFault(#"{"Text":"hi, beauty"}"#, #""hi""#, 90010, "MsgBody[0].MsgContent"),
        RequestFault(#"{"Text":"hi, beauty"}"#, "{}", 90010, "MsgBody[0].MsgContent.Text"),
        RequestFault(#"{"Text":"hi, beauty"}"#, #"{"Text":1}"#, 90010, "MsgBody[0].MsgContent.Text"),
        RequestFault(
            #""MsgBody":["#,
            #""MsgBody":[{"MsgType":"TIMCustomElem","MsgContent":{}},{"MsgType":"TIMCustomElem","MsgContent":{}},"#,
            90002,
            "MsgBody",
        ),
        RequestFault(
            #""MsgBody":["#,
            #""MsgBody":[{"MsgType":"TIMCustomElem","MsgContent":{"Desc":1}},"#,
            90010,
            "MsgBody[0].MsgContent.Desc",
        ),
        RequestFault(
            #""MsgBody":["#,
            #""MsgBody":[{"MsgType":"TIMImageElem","MsgContent":{"ImageInfoArray":{}}},"#,
            90010,
            "MsgBody[0].MsgContent.ImageInfoArray",
        ),
        RequestFault(#""OfflinePushInfo":{"#, #""OfflinePushInfo":"x","Other":{"#, 90043, "OfflinePushInfo"),
        RequestFault(#""OfflinePushInfo":{"#, #""OfflinePushInfo":null,"Other":{"#, 90043, "OfflinePushInfo"),
        RequestFault(#""OfflinePushInfo":{"#, #""OfflinePushInfo":[],"Other":{"#, 90043, "OfflinePushInfo"),
    ]

    private static let id = #""LaId":"order-1""#
    private static let event = #""Event":"end""#
    private static let date = #""DismissalDate":1796007772"#
    private static let activity = "ApnsInfo.LiveActivity"
    private static let languages = #""MultiLanguageContent":["#

    /// Inside OfflinePushInfo.
    static let push = [
        RequestFault(#""PushFlag":0"#, #""PushFlag":2"#, "PushFlag"),
        RequestFault(#""PushFlag":0"#, #""PushFlag":-1"#, "PushFlag"),
        RequestFault(#""PushFlag":0"#, #""PushFlag":"x""#, "PushFlag"),
        RequestFault(#""PushFlag":0"#, #""PushFlag":false"#, "PushFlag"),
        RequestFault(#""Title":"Order""#, #""Title":1"#, "Title"),
        RequestFault(#""Title":"Order""#, #""Title":null"#, "Title"),
        RequestFault(#""Desc":"On its way""#, #""Desc":{}"#, "Desc"),
        RequestFault(#""Ext":"{\"n\":1}""#, #""Ext":{"n":1}"#, "Ext"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeAddNum":"many""#, "BadgeAddNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeAddNum":0"#, "BadgeAddNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeAddNum":"100""#, "BadgeAddNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeSetNum":5,"BadgeAddNum":-1"#, "BadgeAddNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeSetNum":1.5"#, "BadgeSetNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeSetNum":-1"#, "BadgeSetNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeSetNum":1000"#, "BadgeSetNum"),
        RequestFault(#""BadgeSetNum":5"#, #""BadgeSetNum":true"#, "BadgeSetNum"),
        RequestFault(#""PushTemplateParam":{}"#, #""PushTemplateParam":[]"#, "PushTemplateParam"),
        RequestFault(#""PushTemplateParam":{}"#, #""PushTemplateId":1"#, "PushTemplateId"),
        RequestFault(languages, #""MultiLanguageContent":{},"Other":["#, "MultiLanguageContent"),
        RequestFault(languages, languages + "1,", "MultiLanguageContent[0]"),
        RequestFault(#"{"Language":"fr"}"#, #"{"Language":"zh","Title":1}"#, "MultiLanguageContent[1].Title"),
        RequestFault(#"{"Language":"fr"}"#, #"{"Language":"zh","Desc":{}}"#, "MultiLanguageContent[1].Desc"),
        RequestFault(#"{"Language":"fr"}"#, "{}", "MultiLanguageContent[1].Language"),
        RequestFault(#"{"Language":"fr"}"#, #"{"Language":""}"#, "MultiLanguageContent[1].Language"),
        RequestFault(#"{"Language":"fr"}"#, #"{"Language":7}"#, "MultiLanguageContent[1].Language"),
        RequestFault(#"{"Language":"fr"}"#, #"{"Language":null}"#, "MultiLanguageContent[1].Language"),
        RequestFault(
            #"{"Language":"fr"}"#,
            #"{"Language":""# + String(repeating: "é", count: 32) + #"x"}"#,
            "MultiLanguageContent[1].Language",
        ),
        RequestFault(#""AndroidInfo":{"#, #""AndroidInfo":[],"Other":{"#, "AndroidInfo"),
        RequestFault(#""PushStyle":0"#, #""PushStyle":"big""#, "AndroidInfo.PushStyle"),
        RequestFault(#""OPPONotifyLevel":16"#, #""OPPONotifyLevel":[]"#, "AndroidInfo.OPPONotifyLevel"),
        RequestFault(#""VIVOClassification":"1""#, #""VIVOClassification":"""#, "AndroidInfo.VIVOClassification"),
        RequestFault(#""MeiZuNoticeMsgType":0"#, #""MeiZuNoticeMsgType":null"#, "AndroidInfo.MeiZuNoticeMsgType"),
        RequestFault(
            #""ExtAsHuaweiIntentParam":1"#,
            #""ExtAsHuaweiIntentParam":1.1"#,
            "AndroidInfo.ExtAsHuaweiIntentParam"
        ),
        RequestFault(
            #""OPPOPrivateTitleParameters":{}"#,
            #""OPPOPrivateTitleParameters":1"#,
            "AndroidInfo.OPPOPrivateTitleParameters",
        ),
        RequestFault(#""Sound":"ding""#, #""Sound":{}"#, "AndroidInfo.Sound"),
        RequestFault(#""HarmonyInfo":{"#, #""HarmonyInfo":"","Other":{"#, "HarmonyInfo"),
        RequestFault(#""SoundDuration":30"#, #""SoundDuration":"long""#, "HarmonyInfo.SoundDuration"),
        RequestFault(#""ApnsInfo":{"#, #""ApnsInfo":1,"Other":{"#, "ApnsInfo"),
        RequestFault(#""Sound":"ding.caf""#, #""Sound":0"#, "ApnsInfo.Sound"),
        RequestFault(#""BadgeMode":1"#, #""BadgeMode":"one""#, "ApnsInfo.BadgeMode"),
        RequestFault(#""BadgeMode":1"#, #""BadgeMode":2"#, "ApnsInfo.BadgeMode"),
        RequestFault(#""BadgeMode":1"#, #""BadgeMode":null"#, "ApnsInfo.BadgeMode"),
        RequestFault(#""Title":"Your order""#, #""Title":[]"#, "ApnsInfo.Title"),
        RequestFault(#""SubTitle":"Pizza""#, #""SubTitle":1"#, "ApnsInfo.SubTitle"),
        RequestFault(#""Image":"https://a.b/c.png""#, #""Image":{}"#, "ApnsInfo.Image"),
        RequestFault(#""MutableContent":1"#, #""MutableContent":true"#, "ApnsInfo.MutableContent"),
        RequestFault(#""MutableContent":1"#, #""MutableContent":2"#, "ApnsInfo.MutableContent"),
        RequestFault(#""time-sensitive""#, #""loud""#, "ApnsInfo.InterruptionLevel"),
        RequestFault(#""time-sensitive""#, #""Active""#, "ApnsInfo.InterruptionLevel"),
        RequestFault(#""time-sensitive""#, "1", "ApnsInfo.InterruptionLevel"),
        RequestFault(#""ContentAvailable":0"#, #""ContentAvailable":"no""#, "ApnsInfo.ContentAvailable"),
        RequestFault(#""ContentAvailable":0"#, #""ContentAvailable":2"#, "ApnsInfo.ContentAvailable"),
        RequestFault(#""ContentAvailable":0"#, #""ContentAvailable":"-1""#, "ApnsInfo.ContentAvailable"),
        RequestFault(#""IsVoipPush":0"#, #""IsVoipPush":{}"#, "ApnsInfo.IsVoipPush"),
        RequestFault(#""IsVoipPush":0"#, #""IsVoipPush":3"#, "ApnsInfo.IsVoipPush"),
        RequestFault(#""LiveActivity":{"#, #""LiveActivity":[],"Other":{"#, activity),
        RequestFault(#""LiveActivity":{"#, #""LiveActivity":null,"Other":{"#, activity),
        RequestFault(id + ",", "", activity + ".LaId"),
        RequestFault(id, #""LaId":"""#, activity + ".LaId"),
        RequestFault(id, #""LaId":7"#, activity + ".LaId"),
        RequestFault(event + ",", "", activity + ".Event"),
        RequestFault(event, #""Event":1"#, activity + ".Event"),
        RequestFault(#""ContentState":{"a""#, #""Other":{"a""#, activity + ".ContentState"),
        RequestFault(#""ContentState":{"a""#, #""ContentState":"{}","Other":{"a""#, activity + ".ContentState"),
        RequestFault(#""ContentState":{"a""#, #""ContentState":[],"Other":{"a""#, activity + ".ContentState"),
        RequestFault(#""ContentState":{"a""#, #""ContentState":null,"Other":{"a""#, activity + ".ContentState"),
        RequestFault(date, #""DismissalDate":-5"#, activity + ".DismissalDate"),
        RequestFault(date, #""DismissalDate":1796007772.5"#, activity + ".DismissalDate"),
        RequestFault(date, #""DismissalDate":"soon""#, activity + ".DismissalDate"),
        RequestFault(date, #""DismissalDate":null"#, activity + ".DismissalDate"),
        RequestFault(date, #""DismissalDate":1e400"#, activity + ".DismissalDate"),
    ]
}
