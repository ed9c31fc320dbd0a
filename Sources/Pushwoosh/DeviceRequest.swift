import Gateway
import LiveActivity

/// What the iOS SDK asks for, checked.
struct DeviceRequest: Equatable {
    /// What is to be done.
    enum Action: Equatable {
        case registerDevice(DeviceRegistration)
        case unregisterDevice
        /// Only that the phone is this user's.
        case registerUser
        case registerActivity(ActivityRegistration)
        case clearActivity(String)
        case clearActivities
        case registerStartToken(StartTokenRegistration)
        case clearStartToken
    }

    /// The SDK registers push-to-start tokens without their type.
    static let anyType = "*"

    /// Whose phone it is: `userId`, or hwid while nobody has logged in.
    let owner: RegistrationOwner
    /// What is to be done.
    let action: Action

    init(
        _ method: PushwooshMethod,
        decoding fields: RequestFields,
        application: ApplicationCode,
    ) throws(PushwooshFault) {
        let hwid = try fields.required("hwid")
        let installation = try PushwooshFault.refusing { () throws(RegistrationFault) in
            try RegistrationRules.installation(hwid, field: "hwid")
        }
        let user = try fields.text("userId") ?? hwid
        let account = try PushwooshFault.refusing { () throws(RegistrationFault) in
            try RegistrationRules.account(user, field: "userId")
        }
        owner = RegistrationOwner(sdkAppID: application.sdkAppID, account: account, installation: installation)
        switch method {
        case .registerDevice:
            guard let token = try Self.token("push_token", fields) else {
                throw fields.fault("push_token", "is missing or empty")
            }
            action = .registerDevice(
                DeviceRegistration(
                    token: token,
                    businessID: application.businessID,
                    osVersion: try Self.short("os_version", fields),
                    appVersion: try Self.short("app_version", fields),
                    language: try Self.short("language", fields),
                )
            )
        case .unregisterDevice:
            action = .unregisterDevice
        case .setActivityToken:
            action = try Self.activityToken(fields, application)
        case .setActivityPushToStartToken:
            action =
                try Self.token("activity_push_to_start_token", fields).map { token in
                    .registerStartToken(
                        StartTokenRegistration(
                            attributesType: Self.anyType,
                            token: token,
                            businessID: application.businessID,
                        )
                    )
                } ?? .clearStartToken
        case .registerUser, .startLiveActivity, .updateLiveActivity:
            action = .registerUser
        }
    }

    /// Without a token the activity is over; without an id all of them are: the SDK's `stopLiveActivity()`.
    private static func activityToken(
        _ fields: RequestFields,
        _ application: ApplicationCode,
    ) throws(PushwooshFault) -> Action {
        let token = try token("activity_token", fields)
        let id = try fields.text("activity_id")
        guard let id else {
            guard token == nil else {
                throw fields.fault("activity_id", "is missing or empty, so that no update could name the activity")
            }
            return .clearActivities
        }
        let laID = try PushwooshFault.refusing { () throws(RegistrationFault) in
            try RegistrationRules.laID(id, field: "activity_id")
        }
        guard let token else { return .clearActivity(laID) }
        return .registerActivity(
            ActivityRegistration(laID: laID, token: token, businessID: application.businessID)
        )
    }

    private static func token(_ name: String, _ fields: RequestFields) throws(PushwooshFault) -> PushToken? {
        guard let text = try fields.text(name) else { return nil }
        guard let token = try? PushToken(parsing: text) else {
            throw fields.fault(name, "must be a token of 32 to 256 bytes in hexadecimal or base64")
        }
        return token
    }

    /// What only describes the phone must not keep it from being registered.
    private static func short(_ name: String, _ fields: RequestFields) throws(PushwooshFault) -> String? {
        guard let text = fields[name]?.string, !text.isEmpty, text.utf8.count <= 64 else { return nil }
        return text
    }
}
