import LiveActivity
import VerbatimJSON

extension OfflinePushInfo {
    /// The longest Language in bytes: what a phone can report.
    static let maximumLanguageBytes = 64

    /// Checks every field that Tencent documents, also those that this gateway does not act on; unknown fields are
    /// ignored. Numbers may come as strings, as some of Tencent's SDKs send them.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - countsOnBadge: whether a push counts 1 on the app's icon where no field says what it does. Tencent: yes for
    ///     chat messages, no for pure pushes (`timpush/...`).
    ///   - allowsExtensions: whether LiveActivity may have fields that Tencent does not have.
    /// - Throws: 90043 with the path of the first field that is wrong.
    init(
        decoding value: JSONValue,
        now: Int64,
        countsOnBadge: Bool,
        allowsExtensions: Bool = false,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        let fields = try RequestFields(value, code: .offlinePushInfo, acceptsNumericStrings: true)
        isPushOff = try fields.flag("PushFlag")
        title = try fields.string("Title")
        text = try fields.string("Desc")
        ext = try fields.string("Ext")
        translations = try OfflinePushInfo.translations(in: fields)
        _ = try fields.string("PushTemplateId")
        _ = try fields.object("PushTemplateParam")
        if fields["PushTemplateId"] != nil {
            warnings.append(.notSupported(fields.path(of: "PushTemplateId")))
        }
        otherPlatforms = try OtherPlatforms.check(fields, &warnings)
        apns =
            try fields.object("ApnsInfo").map { apns throws(TencentError) in
                try ApnsInfo(decoding: apns, now: now, allowsExtensions: allowsExtensions, &warnings)
            } ?? ApnsInfo()
        badge = try OfflinePushInfo.badge(in: fields, counts: apns.countsOnBadge ?? countsOnBadge, &warnings)
        guard apns.isSilent else { return }
        let shown = ["Title", "Desc", "MultiLanguageContent", "BadgeAddNum", "BadgeSetNum"].map { (fields, $0) }
        let shownOnIPhones = try fields.object("ApnsInfo").map { apns in
            ["Title", "SubTitle", "Sound", "Image", "MutableContent", "InterruptionLevel"].map { (apns, $0) }
        }
        for (object, name) in shown + (shownOnIPhones ?? []) where object[name] != nil {
            let message = "a silent push (ContentAvailable 1) shows nothing; the field was left out"
            warnings.append(RequestWarning(field: object.path(of: name), code: .fieldIgnored, message: message))
        }
    }

    private static func translations(in fields: RequestFields) throws(TencentError) -> [NotificationTranslation] {
        try (fields.objects("MultiLanguageContent") ?? []).map { translation throws(TencentError) in
            guard let language = try translation.string("Language") else {
                throw translation.fault("Language", "missing")
            }
            guard (1...maximumLanguageBytes).contains(language.utf8.count) else {
                throw translation.fault(
                    "Language",
                    "has \(language.utf8.count) bytes, must have 1 to \(maximumLanguageBytes)",
                )
            }
            return NotificationTranslation(
                language: language,
                title: try translation.string("Title"),
                body: try translation.string("Desc"),
            )
        }
    }

    /// - Parameter counts: whether the push counts 1 where neither number is there.
    private static func badge(
        in fields: RequestFields,
        counts: Bool,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> BadgeChange {
        let added = try fields.integer("BadgeAddNum", in: 1...99)
        guard let number = try fields.integer("BadgeSetNum", in: 0...999) else {
            return added.map { .add($0) } ?? (counts ? .add(1) : .unchanged)
        }
        if added != nil {
            warnings.append(
                RequestWarning(
                    field: fields.path(of: "BadgeAddNum"),
                    code: .fieldIgnored,
                    message: "BadgeSetNum goes before it",
                )
            )
        }
        return .set(number)
    }
}

extension ApnsInfo {
    fileprivate init(
        decoding fields: RequestFields,
        now: Int64,
        allowsExtensions: Bool,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        sound = try fields.string("Sound")
        title = try fields.string("Title")
        subtitle = try fields.string("SubTitle")
        image = try fields.string("Image")
        isMutable = try fields.flag("MutableContent")
        if let name = try fields.string("InterruptionLevel") {
            guard let level = InterruptionLevel(rawValue: name) else {
                throw fields.fault("InterruptionLevel", "must be active, critical, passive or time-sensitive")
            }
            interruptionLevel = level
        }
        if fields["BadgeMode"] != nil {
            countsOnBadge = try !fields.flag("BadgeMode")
        }
        liveActivity = try fields.object("LiveActivity").map { activity throws(TencentError) in
            try LiveActivityInfo(decoding: activity, now: now, allowsExtensions: allowsExtensions, &warnings)
        }
        isSilent = try ApnsInfo.isSilent(fields, hasActivity: liveActivity != nil, &warnings)
    }

    /// Tencent leaves open what goes first where several are there. Here: LiveActivity, IsVoipPush, ContentAvailable.
    private static func isSilent(
        _ fields: RequestFields,
        hasActivity: Bool,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> Bool {
        let isVoIP = try fields.flag("IsVoipPush")
        let isSilent = try fields.flag("ContentAvailable")
        if isVoIP {
            let message =
                hasActivity
                ? "LiveActivity goes before it"
                : "no VoIP tokens are registered here; a normal notification takes its place, as at Tencent"
            let code: RequestWarning.Code = hasActivity ? .fieldIgnored : .fieldNotSupported
            warnings.append(RequestWarning(field: fields.path(of: "IsVoipPush"), code: code, message: message))
        }
        guard isSilent, hasActivity || isVoIP else { return isSilent }
        let message = "\(hasActivity ? "LiveActivity" : "IsVoipPush") goes before it; the push is not silent"
        warnings.append(
            RequestWarning(field: fields.path(of: "ContentAvailable"), code: .fieldIgnored, message: message)
        )
        return false
    }
}

extension RequestWarning {
    fileprivate static func notSupported(_ field: String) -> RequestWarning {
        RequestWarning(field: field, code: .fieldNotSupported, message: "this gateway does not act on the field")
    }
}
