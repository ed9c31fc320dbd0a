import VerbatimJSON

/// A message as a chat backend posts it. Start from a valid one and break one thing.
struct TestMessage {
    /// One: sendmsg. Several: batchsendmsg.
    var recipients: [String] = ["alice"]
    var laID: String? = "order-1"
    var event = "update"
    /// JSON, sent as it is. Another in each message: the same again would not be pushed.
    var contentState = #"{"step":\#(UInt32.random(in: 1 ... .max))}"#
    /// JSON, sent as it is.
    var dismissalDate: String?
    /// Further members of LiveActivity: JSON without braces, sent as it is.
    var activityMembers: String?
    var title: String? = "Your order"
    var desc: String? = "is on its way"
    var ext: String?
    /// Further members of OfflinePushInfo and of ApnsInfo: JSON without braces, sent as it is.
    var pushMembers: String?
    var apnsMembers: String?
    var sender: String?
    /// SendTime in seconds since 1970.
    var sendTime: Int64?
    /// MsgLifeTime in seconds.
    var lifetime: Int64?
    var random = UInt32.random(in: 1 ... .max)

    init(_ change: (inout TestMessage) -> Void = { _ in }) {
        change(&self)
    }

    var path: String { recipients.count == 1 ? "/v4/openim/sendmsg" : "/v4/openim/batchsendmsg" }

    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("From_Account", sender)
        writer.key("To_Account")
        if recipients.count == 1 {
            writer.string(recipients[0])
        } else {
            writer.beginArray()
            recipients.forEach { writer.string($0) }
            writer.endArray()
        }
        writer.member("MsgRandom", random)
        writer.member("MsgLifeTime", lifetime)
        writer.member("SendTime", sendTime)
        writer.member("MsgBody", raw: Array(#"[{"MsgType":"TIMCustomElem","MsgContent":{"Data":"x"}}]"#.utf8))
        writer.key("OfflinePushInfo")
        writer.beginObject()
        writer.member("PushFlag", 0)
        writer.member("Title", title)
        writer.member("Desc", desc)
        writer.member("Ext", ext)
        if let pushMembers {
            writer.raw(Array(pushMembers.utf8))
        }
        writer.key("ApnsInfo")
        writer.beginObject()
        if let apnsMembers {
            writer.raw(Array(apnsMembers.utf8))
        }
        if let laID {
            writer.key("LiveActivity")
            writer.beginObject()
            writer.member("LaId", laID)
            writer.member("Event", event)
            writer.member("ContentState", raw: Array(contentState.utf8))
            writer.member("DismissalDate", raw: dismissalDate.map { Array($0.utf8) })
            if let activityMembers {
                writer.raw(Array(activityMembers.utf8))
            }
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
