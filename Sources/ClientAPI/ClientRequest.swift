import Gateway
import HTTPServer
import LiveActivity

/// What a request under /v1 asks for, checked: only the database can refuse it now.
enum ClientRequest: Equatable {
    case putDevice(DeviceRegistration, RegistrationOwner)
    case putActivity(ActivityRegistration, RegistrationOwner)
    case deleteDevice(RegistrationOwner, sequence: Int64?)
    case clearActivity(laID: String, RegistrationOwner, sequence: Int64?)
    case clearActivities(RegistrationOwner, sequence: Int64?)
    case reportPresence(Presence, RegistrationOwner)
    case listRegistrations(ClientIdentity)
    case showMessages(key: String, sdkAppID: Int64)

    init(_ request: HTTPRequest, gateway: any MessageGateway) throws(ClientError) {
        guard let segments = request.pathSegments else {
            throw ClientError(.malformedURL, "the path is not percent-encoded UTF-8")
        }
        let route = try ClientRoute(method: request.method, segments: segments)
        let query = try ClientQuery(request)
        let identity = try ClientIdentity(request, query: query, gateway: gateway)
        switch route {
        case .putDevice(let installation):
            let owner = identity.owner(of: try FieldRules.installation(installation))
            let fields = try BodyFields(request.body)
            self = .putDevice(try fields.device(of: identity, gateway: gateway), owner)
        case .putActivity(let laID):
            let laID = try FieldRules.laID(laID)
            let fields = try BodyFields(request.body)
            let owner = identity.owner(of: try fields.installation())
            self = .putActivity(try fields.activity(laID, of: identity, gateway: gateway), owner)
        case .deleteDevice(let installation):
            let owner = identity.owner(of: try FieldRules.installation(installation))
            self = .deleteDevice(owner, sequence: try query.sequence())
        case .clearActivity(let laID):
            let owner = identity.owner(of: try query.installation())
            self = .clearActivity(laID: try FieldRules.laID(laID), owner, sequence: try query.sequence())
        case .clearActivities:
            let owner = identity.owner(of: try query.installation())
            self = .clearActivities(owner, sequence: try query.sequence())
        case .reportPresence:
            let fields = try BodyFields(request.body)
            self = .reportPresence(try fields.presence(), identity.owner(of: try fields.installation()))
        case .listRegistrations:
            self = .listRegistrations(identity)
        case .showMessages(let key):
            guard identity.isAdministrator else {
                throw ClientError(.forbidden, "only an administrator may ask what became of messages")
            }
            self = .showMessages(key: try FieldRules.messageKey(key), sdkAppID: identity.sdkAppID)
        }
    }
}

extension ClientIdentity {
    fileprivate func owner(of installation: String) -> RegistrationOwner {
        RegistrationOwner(sdkAppID: sdkAppID, account: account, installation: installation)
    }
}

extension BodyFields {
    fileprivate func device(
        of identity: ClientIdentity,
        gateway: any MessageGateway,
    ) throws(ClientError) -> DeviceRegistration {
        DeviceRegistration(
            token: try token(),
            businessID: try businessID(of: identity.sdkAppID, gateway: gateway),
            environment: try choice("environment"),
            osVersion: try text("osVersion", limit: 64),
            appVersion: try text("appVersion", limit: 64),
            language: try text("language", limit: 64),
            notificationPermission: try choice("notificationPermission"),
            frequentPushesEnabled: try boolean("frequentPushesEnabled"),
            sequence: try sequence(),
        )
    }

    fileprivate func activity(
        _ laID: String,
        of identity: ClientIdentity,
        gateway: any MessageGateway,
    ) throws(ClientError) -> ActivityRegistration {
        ActivityRegistration(
            laID: laID,
            token: try token(),
            businessID: try businessID(of: identity.sdkAppID, gateway: gateway),
            environment: try choice("environment"),
            attributesType: try text("attributesType", limit: 128),
            appVersion: try text("appVersion", limit: 64),
            startedAt: try startedAt(now: gateway.now()),
            frequentPushesEnabled: try boolean("frequentPushesEnabled"),
            sequence: try sequence(),
        )
    }
}
