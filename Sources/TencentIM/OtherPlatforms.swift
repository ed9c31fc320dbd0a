import VerbatimJSON

/// AndroidInfo and HarmonyInfo: nothing here acts on them. Types are checked, and a value that Tencent does not know is
/// worth a warning, so that a sender learns of it before the day when they go to such phones too.
enum OtherPlatforms {
    /// Checks both, as far as they are there.
    ///
    /// - Returns: a JSON object with the two, byte for byte; nil if neither is there.
    static func check(_ push: RequestFields, _ warnings: inout [RequestWarning]) throws(TencentError) -> [UInt8]? {
        guard push["AndroidInfo"] != nil || push["HarmonyInfo"] != nil else { return nil }
        var writer = JSONWriter()
        writer.beginObject()
        if let android = try push.object("AndroidInfo") {
            try checkAndroid(android, &warnings)
            writer.member("AndroidInfo", raw: android.object.verbatim)
        }
        if let harmony = try push.object("HarmonyInfo") {
            try checkHarmony(harmony, &warnings)
            writer.member("HarmonyInfo", raw: harmony.object.verbatim)
        }
        writer.endObject()
        return writer.bytes
    }

    private static func checkAndroid(
        _ fields: RequestFields,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        try checkTexts(
            [
                "Sound", "XiaoMiChannelID", "OPPOChannelID", "OPPOCategory", "OPPOPrivateMsgTemplateId", "VIVOCategory",
                "HuaWeiCategory", "HuaWeiImage", "HuaWeiChannelID", "HonorImage", "GoogleImage", "GoogleChannelID",
            ],
            fields,
        )
        for (name, known) in [
            ("PushStyle", [0, 1]), ("OPPONotifyLevel", [1, 2, 16]), ("VIVOClassification", [0, 1]),
            ("MeiZuNoticeMsgType", [0, 1]), ("ExtAsHuaweiIntentParam", [0, 1]),
        ] as [(String, [Int64])] {
            guard let number = try fields.integer(name), !known.contains(number) else { continue }
            let list = known.map(String.init).joined(separator: ", ")
            warnings.append(unknownValue(fields.path(of: name), "one of \(list)"))
        }
        for (name, known) in [
            ("VIVONotifyType", ["1", "2", "3", "4"]), ("HuaWeiImportance", ["LOW", "NORMAL"]),
            ("HonorImportance", ["LOW", "NORMAL"]), ("GooglePriority", ["normal", "high"]),
        ] {
            guard let text = try text(name, fields), !known.contains(text) else { continue }
            warnings.append(unknownValue(fields.path(of: name), "one of \(known.joined(separator: ", "))"))
        }
        if fields["OPPONotifyLevel"] != nil, fields["OPPOCategory"] == nil {
            warnings.append(unknownValue(fields.path(of: "OPPONotifyLevel"), "together with OPPOCategory"))
        }
        _ = try fields.object("OPPOPrivateTitleParameters")
        _ = try fields.object("OPPOPrivateContentParameters")
    }

    private static func checkHarmony(
        _ fields: RequestFields,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        try checkTexts(["Title", "Category", "Image", "Sound"], fields)
        guard let seconds = try fields.integer("SoundDuration") else { return }
        if !(1...60).contains(seconds) {
            warnings.append(unknownValue(fields.path(of: "SoundDuration"), "1 to 60"))
        }
        if fields["Sound"] == nil {
            warnings.append(unknownValue(fields.path(of: "SoundDuration"), "together with Sound"))
        }
    }

    private static func unknownValue(_ field: String, _ known: String) -> RequestWarning {
        RequestWarning(field: field, code: .unknownValue, message: "Tencent knows it only as \(known)")
    }

    private static func checkTexts(_ names: [String], _ fields: RequestFields) throws(TencentError) {
        for name in names {
            _ = try text(name, fields)
        }
    }

    /// Any scalar, since nothing reads it: SDKs send numbers for some.
    private static func text(_ name: String, _ fields: RequestFields) throws(TencentError) -> String? {
        guard let value = fields[name] else { return nil }
        switch value.kind {
        case .string: return value.string
        case .number: return String(decoding: value.verbatim, as: UTF8.self)
        default: throw fields.fault(name, "must be a string")
        }
    }
}
