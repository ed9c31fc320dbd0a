public import Gateway
public import HTTPServer
import LiveActivity
public import Logging

/// Pushwoosh's Live Activity API, for backends and for the iOS SDK: everything under `/json`.
///
/// Decodes and checks a request, hands it to the gateway, and answers in Pushwoosh's words. One object per lane, used on
/// that lane's thread.
public final class PushwooshAPI {
    /// The methods that it knows: their paths below `/json/1.3/`.
    public static let methods = PushwooshMethod.allCases.map(\.rawValue)

    /// The most notifications of one request.
    private static let mostNotifications = 100

    private let gateway: any PushwooshGateway
    private let registrations: RegistrationStore?
    private let logger: Logger?
    private var randomNumbers = SystemRandomNumberGenerator()

    /// - Parameters:
    ///   - gateway: the lane's.
    ///   - registrations: the lane's store; nil: requests are only explained, and phones register nothing.
    ///   - logger: gets a line for each request that is refused, without anything the request contained.
    public init(gateway: any PushwooshGateway, registrations: RegistrationStore?, logger: Logger?) {
        self.gateway = gateway
        self.registrations = registrations
        self.logger = logger
    }

    /// The body of what the HTTP server answers by itself to a request whose path begins with `/json`, such as one that is too
    /// large: with a numeric `status_code`, as every answer.
    public static func body(of refusal: HTTPRefusal) -> [UInt8] {
        PushwooshAnswer.body(of: refusal)
    }

    /// Answers a request whose path begins with `/json`.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let method = PushwooshMethod(pathSegments: request.pathSegments)
        do throws(PushwooshFault) {
            guard let method else { throw PushwooshFault(.malformed, "there is no such method") }
            guard request.method == "POST" else { throw PushwooshFault(.malformed, "the HTTP method must be POST") }
            let fields = try RequestFields(bodyOf: request.body)
            return method.isForServers
                ? try await send(method, fields) : try await register(method, fields, request)
        } catch {
            logger?.info(
                "request refused",
                [
                    "method": .string(method?.rawValue ?? "unknown"), "status_code": .count(error.code.rawValue),
                    "status_message": .string(error.message),
                ],
            )
            return PushwooshAnswer.failure(error)
        }
    }

    // MARK: - Who asks

    /// The application code that a request names, if the API token opens it.
    private func application(
        _ fields: RequestFields,
        token: String?,
        for scopes: Set<APIToken.Scope>,
    ) throws(PushwooshFault) -> (code: ApplicationCode, app: Application) {
        let name = try fields.required("application")
        let known: (APIToken?, ApplicationCode?)
        do throws(GatewayUnavailable) {
            known = (
                try token.flatMap { text throws(GatewayUnavailable) in try gateway.apiToken(text) },
                try gateway.applicationCode(name)
            )
        } catch {
            throw PushwooshFault(error)
        }
        guard let opened = known.0 else { throw PushwooshFault(.forbidden, "the API token is missing or unknown") }
        guard scopes.contains(opened.scope) else {
            throw PushwooshFault(.forbidden, "the API token is a phone's and may not send")
        }
        guard let code = known.1 else { throw fields.fault("application", "there is no such application code") }
        guard code.sdkAppID == opened.sdkAppID else {
            throw PushwooshFault(.forbidden, "the API token is not for this application")
        }
        do throws(GatewayUnavailable) {
            guard let app = try gateway.application(code.sdkAppID) else { throw GatewayUnavailable(.databaseAway) }
            return (code, app)
        } catch {
            throw PushwooshFault(error)
        }
    }

    private func count(
        _ app: Application,
        _ count: (RateLimiter) throws(RateLimitExceeded) -> Void,
    ) throws(PushwooshFault) {
        guard let limiter = app.rateLimiter else { return }
        do throws(RateLimitExceeded) {
            try count(limiter)
        } catch {
            throw PushwooshFault(error)
        }
    }

    // MARK: - Backends

    private func send(_ method: PushwooshMethod, _ fields: RequestFields) async throws(PushwooshFault) -> HTTPResponse {
        let (code, app) = try application(fields, token: try fields.required("auth"), for: [.server])
        try count(app) { limiter throws(RateLimitExceeded) in try limiter.countRequest(of: code.code) }
        guard let list = fields["notifications"], list.kind == .array else {
            throw fields.fault("notifications", "must be an array")
        }
        let elements = list.elements
        guard (1...Self.mostNotifications).contains(elements.count) else {
            throw fields.fault(
                "notifications",
                "has \(elements.count) elements, must have 1 to \(Self.mostNotifications)"
            )
        }
        var orders: [PlannedOrder] = []
        // The first order of each notification.
        var firsts: [Int] = []
        var unknownDevices: [String: [String]] = [:]
        var warnings: [RequestWarning] = []
        for (index, element) in elements.enumerated() {
            let notification = try await LiveActivityNotification(
                decoding: try RequestFields(element, path: "notifications[\(index)]"),
                isStart: method == .startLiveActivity,
                now: gateway.now(),
                time: { localTime, zone throws(PushwooshFault) in
                    try await PushwooshFault.translating { () throws(GatewayUnavailable) in
                        try await self.gateway.time(of: localTime, in: zone)
                    }
                },
            )
            let messageCode = MessageCode.make(&randomNumbers)
            let (made, unknown) = try await self.orders(
                of: notification,
                method,
                code: messageCode,
                code,
                path: "notifications[\(index)]",
            )
            var told = notification.warnings
            told += try await reach(of: notification, code, "notifications[\(index)]")
            if !unknown.isEmpty { unknownDevices[messageCode] = unknown }
            firsts.append(orders.endIndex)
            for var order in made {
                if notification.sendAt == nil, app.contentSchemas != nil {
                    try await review(&order, "notifications[\(index)]", &told)
                }
                orders.append(PlannedOrder(order: order, digest: nil, sendAt: notification.sendAt))
            }
            warnings += told
        }
        let accepted = orders
        let acceptances = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
            try await gateway.accept(accepted)
        }
        return PushwooshAnswer.messages(
            firsts.compactMap { acceptances.indices.contains($0) ? acceptances[$0].messageKey : nil },
            unknownDevices: unknownDevices,
            warnings: warnings,
        )
    }

    /// What the gateway is asked to do for a notification, and which devices or tokens nobody has registered. Only one that
    /// names its activities by their tokens may ask for several.
    private func orders(
        of notification: LiveActivityNotification,
        _ method: PushwooshMethod,
        code: String,
        _ application: ApplicationCode,
        path: String,
    ) async throws(PushwooshFault) -> (orders: [PushOrder], unknown: [String]) {
        guard case .tokens(let named) = notification.target else {
            let (tokens, unknown) = try await devices(of: notification, application)
            let order = notification.order(
                method,
                code: code,
                application: application,
                laID: notification.laID ?? "",
                tokens: tokens,
            )
            return ([order], unknown)
        }
        let known = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
            try await gateway.activities(withTokens: named, in: application.sdkAppID)
        }
        // By bytes, as PostgreSQL compares.
        let wanted = notification.laID.map { Array($0.utf8) }
        var places: [[UInt8]: Int] = [:]
        var activities: [(laID: String, accounts: [String], seen: AccountSet)] = []
        var unknown: [String] = []
        for token in named {
            guard let activity = known[token], wanted == nil || wanted == Array(activity.laID.utf8) else {
                unknown.append(token.hexadecimal)
                continue
            }
            let place = places[Array(activity.laID.utf8)] ?? activities.endIndex
            if place == activities.endIndex {
                places[Array(activity.laID.utf8)] = place
                activities.append((activity.laID, [], []))
            }
            guard !activities[place].seen.contains(activity.account) else { continue }
            activities[place].seen.insert(activity.account)
            activities[place].accounts.append(activity.account)
        }
        guard !activities.isEmpty else {
            throw PushwooshFault(path: "\(path).live_activity_push_tokens", "no phone has registered any of them")
        }
        let orders = activities.map { activity in
            notification.order(
                method,
                code: code,
                application: application,
                laID: activity.laID,
                accounts: activity.accounts,
            )
        }
        return (orders, unknown)
    }

    /// Warnings of a segment that nobody is in, and of an activity that no phone has.
    private func reach(
        of notification: LiveActivityNotification,
        _ code: ApplicationCode,
        _ path: String,
    ) async throws(PushwooshFault) -> [RequestWarning] {
        switch notification.target {
        case .filter(let name):
            let isFilled = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
                try await gateway.hasSegment(name, in: code.sdkAppID)
            }
            let message = "nobody is in this segment now"
            return isFilled ? [] : [RequestWarning(field: path + ".filter", code: "segment_empty", message: message)]
        case .activity where notification.sendAt == nil:
            let (laID, event) = (notification.laID ?? "", notification.content.event)
            let isKnown = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
                try await gateway.hasActivity(laID, for: event, in: code.sdkAppID)
            }
            let message = "no phone is known to have this activity now"
            let field = path + ".live_activity_id"
            return isKnown ? [] : [RequestWarning(field: field, code: "activity_unknown", message: message)]
        case .activity, .everyone, .users, .devices, .tokens:
            return []
        }
    }

    /// The device tokens of a notification, and what is neither the token nor the hwid of a phone that is registered. A token
    /// is sent to all the same: it may be registered by then.
    private func devices(
        of notification: LiveActivityNotification,
        _ code: ApplicationCode,
    ) async throws(PushwooshFault) -> (tokens: [PushToken], unknown: [String]) {
        guard case .devices(let devices) = notification.target else { return ([], []) }
        let known = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
            try await gateway.deviceTokens(of: devices, in: code.sdkAppID)
        }
        let given = devices.map { device in known[device] ?? (try? PushToken(parsing: device)) }
        let registered = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
            try await gateway.registeredTokens(among: given.compactMap { $0 }, in: code.sdkAppID)
        }
        var tokens: [PushToken] = []
        var seen: Set<PushToken> = []
        var unknown: [String] = []
        for (device, token) in zip(devices, given) {
            if token.map({ !registered.contains($0) }) ?? true { unknown.append(device) }
            if let token, seen.insert(token).inserted { tokens.append(token) }
        }
        return (tokens, unknown)
    }

    /// Takes over what the check by the app's schemas says.
    private func review(
        _ order: inout PushOrder,
        _ path: String,
        _ warnings: inout [RequestWarning],
    ) async throws(PushwooshFault) {
        let asked = order
        let review = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
            try await gateway.review(asked)
        }
        guard let review else { return }
        if let refusal = review.refusal { throw PushwooshFault(path: Self.path(refusal, path), refusal.message) }
        order.fitsAll = review.fitsAll
        if review.isBySchema { warnings.removeAll(where: \.isDateGuess) }
        for notice in review.warnings where !notice.isOfPushwooshMember {
            warnings.append(
                RequestWarning(field: Self.path(notice, path), code: notice.code.rawValue, message: notice.message)
            )
        }
    }

    private static func path(_ notice: ContentNotice, _ path: String) -> String {
        let name =
            switch notice.part {
            case .contentState: "content-state"
            case .attributes: "attributes"
            }
        return "\(path).live_activity.\(name)\(notice.place)"
    }

    // MARK: - Phones

    private func register(
        _ method: PushwooshMethod,
        _ fields: RequestFields,
        _ request: HTTPRequest,
    ) async throws(PushwooshFault) -> HTTPResponse {
        let token = Self.token(in: request.headers.first(named: "Authorization"))
        let (code, app) = try application(fields, token: token, for: [.server, .device])
        let wanted = try DeviceRequest(method, decoding: fields, application: code)
        try count(app) { limiter throws(RateLimitExceeded) in
            try limiter.countClientRequest(of: wanted.owner.account)
        }
        let fault = try await PushwooshFault.translating { () async throws(GatewayUnavailable) in
            try await perform(wanted)
        }
        if let fault { throw fault }
        return PushwooshAnswer.success()
    }

    /// - Returns: why it was not done; nil: it was.
    private func perform(_ wanted: DeviceRequest) async throws(GatewayUnavailable) -> PushwooshFault? {
        guard let registrations else { throw GatewayUnavailable(.nothingToExplain) }
        let owner = wanted.owner
        try await registrations.moveInstallation(to: owner)
        switch wanted.action {
        case .registerDevice(let device): _ = try await registrations.putDevice(device, for: owner)
        case .unregisterDevice: _ = try await registrations.deleteDevice(of: owner, sequence: nil)
        case .registerUser: break
        case .registerActivity(let activity):
            if try await registrations.putActivity(activity, for: owner) == .tokenOfOtherKind {
                return PushwooshFault(path: "activity_token", RegistrationOutcome.otherKind)
            }
        case .clearActivity(let laID): _ = try await registrations.clearActivity(laID, of: owner, sequence: nil)
        case .clearActivities: _ = try await registrations.clearActivities(of: owner, sequence: nil)
        case .registerStartToken(let start): _ = try await registrations.putStartToken(start, for: owner)
        case .clearStartToken:
            _ = try await registrations.clearStartToken(DeviceRequest.anyType, of: owner, sequence: nil)
        }
        return nil
    }

    /// What stands behind `Token`, or `Bearer`; the scheme is case-insensitive (RFC 9110, 11.1).
    private static func token(in header: String?) -> String? {
        let parts = (header ?? "").split(separator: " ")
        guard parts.count == 2, ["token", "bearer"].contains(parts[0].lowercased()) else { return nil }
        return String(parts[1])
    }
}
