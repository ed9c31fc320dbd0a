import Gateway
import HTTPServer

/// What a request under /v1 asks for, checked: only the database can refuse it now.
enum ClientRequest: Equatable {
    case putDevice(DeviceRegistration, RegistrationOwner)
    case putActivity(ActivityRegistration, RegistrationOwner)
    case deleteDevice(RegistrationOwner, sequence: Int64?)
    case clearActivity(laID: String, RegistrationOwner, sequence: Int64?)
    case clearActivities(RegistrationOwner, sequence: Int64?)
    case putStartToken(StartTokenRegistration, RegistrationOwner)
    case clearStartToken(attributesType: String, RegistrationOwner, sequence: Int64?)
    case reportPresence(Presence, RegistrationOwner)
    case listRegistrations(ClientIdentity)
    case showMessages(key: String, sdkAppID: Int64)
    case cancelMessages(key: String, ClientIdentity)
    case channels(ChannelOrder)

    init(_ request: HTTPRequest, gateway: any MessageGateway) throws(ClientError) {
        guard let segments = request.pathSegments else {
            throw ClientError(.malformedURL, "the path is not percent-encoded UTF-8")
        }
        let route = try ClientRoute(method: request.method, segments: segments)
        let query = try ClientQuery(request)
        let identity = try ClientIdentity(request, query: query, gateway: gateway)
        func hasCertificate(_ businessID: Int64) -> Bool {
            gateway.hasCertificate(businessID: businessID, in: identity.sdkAppID)
        }
        switch route {
        case .putDevice(let installation):
            let owner = try identity.owner(of: installation)
            let fields = try BodyFields(request.body)
            let device = try ClientError.refusing { () throws(RegistrationFault) in
                try fields.device(hasCertificate: hasCertificate)
            }
            self = .putDevice(device, owner)
        case .putActivity(let laID):
            let laID = try ClientRequest.checked(laID)
            let fields = try BodyFields(request.body)
            let owner = try identity.owner(
                of: try ClientError.refusing { () throws(RegistrationFault) in try fields.installation() }
            )
            let activity = try ClientError.refusing { () throws(RegistrationFault) in
                try fields.activity(laID, now: gateway.now(), hasCertificate: hasCertificate)
            }
            self = .putActivity(activity, owner)
        case .deleteDevice(let installation):
            self = .deleteDevice(try identity.owner(of: installation), sequence: try query.sequence())
        case .clearActivity(let laID):
            let owner = try identity.owner(of: try query.installation())
            self = .clearActivity(laID: try ClientRequest.checked(laID), owner, sequence: try query.sequence())
        case .clearActivities:
            let owner = try identity.owner(of: try query.installation())
            self = .clearActivities(owner, sequence: try query.sequence())
        case .putStartToken(let type):
            let fields = try BodyFields(request.body)
            let (token, installation) = try ClientError.refusing { () throws(RegistrationFault) in
                let installation = try fields.installation()
                let type = try RegistrationRules.startedType(type)
                return (try fields.startToken(type, hasCertificate: hasCertificate), installation)
            }
            self = .putStartToken(token, try identity.owner(of: installation))
        case .clearStartToken(let type):
            let owner = try identity.owner(of: try query.installation())
            let type = try ClientError.refusing { () throws(RegistrationFault) in
                try RegistrationRules.attributesType(type)
            }
            self = .clearStartToken(attributesType: type, owner, sequence: try query.sequence())
        case .reportPresence:
            let fields = try BodyFields(request.body)
            let (presence, installation) = try ClientError.refusing { () throws(RegistrationFault) in
                (try fields.presence(), try fields.installation())
            }
            self = .reportPresence(presence, try identity.owner(of: installation))
        case .listRegistrations:
            self = .listRegistrations(identity)
        case .showMessages(let key):
            guard identity.isAdministrator else {
                throw ClientError(.forbidden, "only an administrator may ask what became of messages")
            }
            self = .showMessages(key: try FieldRules.messageKey(key), sdkAppID: identity.sdkAppID)
        case .cancelMessages(let key):
            guard identity.isAdministrator else {
                throw ClientError(.forbidden, "only an administrator may cancel messages")
            }
            self = .cancelMessages(key: try FieldRules.messageKey(key), identity)
        case .createChannel, .listChannels, .readChannel, .deleteChannel, .sendToChannel:
            guard identity.isAdministrator else {
                throw ClientError(.forbidden, "only an administrator may manage channels and send to them")
            }
            self = .channels(try ChannelOrder(route, request, query: query, identity))
        }
    }

    private static func checked(_ laID: String) throws(ClientError) -> String {
        try ClientError.refusing { () throws(RegistrationFault) in try RegistrationRules.laID(laID) }
    }
}

extension ClientIdentity {
    fileprivate func owner(of installation: String) throws(ClientError) -> RegistrationOwner {
        let installation = try ClientError.refusing { () throws(RegistrationFault) in
            try RegistrationRules.installation(installation)
        }
        return RegistrationOwner(sdkAppID: sdkAppID, account: account, installation: installation)
    }
}
