import LiveActivity
import VerbatimJSON

extension OfflinePushInfo {
    /// Checks every field that Tencent documents, also those that this gateway does not act on; unknown fields are
    /// ignored. Numbers may come as strings, as some of Tencent's SDKs send them.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: 90043 with the path of the first field that is wrong.
    init(decoding value: JSONValue, now: Int64, _ warnings: inout [RequestWarning]) throws(TencentError) {
        let fields = try RequestFields(
            value,
            path: "OfflinePushInfo",
            code: .offlinePushInfo,
            acceptsNumericStrings: true,
        )
        isPushOff = try fields.flag("PushFlag")
        title = try fields.string("Title")
        text = try fields.string("Desc")
        ext = try fields.string("Ext")
        _ = try fields.integer("BadgeAddNum")
        _ = try fields.integer("BadgeSetNum")
        for translation in try fields.objects("MultiLanguageContent") ?? [] {
            _ = try translation.string("Language")
            _ = try translation.string("Title")
            _ = try translation.string("Desc")
        }
        _ = try fields.string("PushTemplateId")
        _ = try fields.object("PushTemplateParam")
        try OfflinePushInfo.checkOtherPlatforms(fields)
        apns =
            try fields.object("ApnsInfo").map { apns throws(TencentError) in
                try ApnsInfo(decoding: apns, now: now, &warnings)
            } ?? ApnsInfo()
        for name in ["MultiLanguageContent", "PushTemplateId"] where fields[name] != nil {
            warnings.append(.notSupported(fields.path(of: name)))
        }
    }

    /// AndroidInfo and HarmonyInfo: their texts may be any scalar, since nothing here reads them.
    private static func checkOtherPlatforms(_ fields: RequestFields) throws(TencentError) {
        if let android = try fields.object("AndroidInfo") {
            let integers = [
                "PushStyle", "OPPONotifyLevel", "VIVOClassification", "MeiZuNoticeMsgType", "ExtAsHuaweiIntentParam",
            ]
            for name in integers {
                _ = try android.integer(name)
            }
            let texts = [
                "Sound", "XiaoMiChannelID", "OPPOChannelID", "OPPOCategory", "OPPOPrivateMsgTemplateId", "VIVOCategory",
                "VIVONotifyType", "HuaWeiImportance", "HuaWeiCategory", "HuaWeiImage", "HuaWeiChannelID", "HonorImage",
                "HonorImportance", "GoogleImage", "GooglePriority", "GoogleChannelID",
            ]
            try android.checkScalars(texts)
            _ = try android.object("OPPOPrivateTitleParameters")
            _ = try android.object("OPPOPrivateContentParameters")
        }
        if let harmony = try fields.object("HarmonyInfo") {
            try harmony.checkScalars(["Title", "Category", "Image", "Sound"])
            _ = try harmony.integer("SoundDuration")
        }
    }
}

extension ApnsInfo {
    fileprivate init(
        decoding fields: RequestFields,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        sound = try fields.string("Sound")
        title = try fields.string("Title")
        subtitle = try fields.string("SubTitle")
        image = try fields.string("Image")
        isMutable = try fields.integer("MutableContent") == 1
        if let name = try fields.string("InterruptionLevel") {
            guard let level = InterruptionLevel(rawValue: name) else {
                throw fields.fault("InterruptionLevel", "must be active, critical, passive or time-sensitive")
            }
            interruptionLevel = level
        }
        _ = try fields.integer("BadgeMode")
        for name in ["ContentAvailable", "IsVoipPush"] where try fields.integer(name) == 1 {
            warnings.append(.notSupported(fields.path(of: name)))
        }
        liveActivity = try fields.object("LiveActivity").map { activity throws(TencentError) in
            try LiveActivityInfo(decoding: activity, now: now, &warnings)
        }
    }
}

extension RequestFields {
    /// Checks that fields are strings or numbers, where they are there.
    fileprivate func checkScalars(_ names: [String]) throws(TencentError) {
        for name in names {
            guard let value = object[name] else { continue }
            guard value.kind == .string || value.kind == .number else { throw fault(name, "must be a string") }
        }
    }
}

extension RequestWarning {
    fileprivate static func notSupported(_ field: String) -> RequestWarning {
        RequestWarning(field: field, code: .fieldNotSupported, message: "this gateway does not act on the field")
    }
}
