public import Gateway
public import HTTPServer
public import Logging

/// The API that phones register with, that tells a backend what became of its messages, and that manages broadcast channels:
/// every path under /v1.
///
/// App and account come from the UserSig in `Authorization: Bearer`. Bodies are JSON objects. A success is 200 with a
/// JSON object; anything else is `{"error": {"code", "message", "field"?}}` with a ``ClientErrorCode``.
///
/// One object per lane, used on that lane's thread.
public final class ClientAPI {
    private let gateway: any MessageGateway
    private let registrations: RegistrationStore
    private let messages: MessageRecordStore
    private let channels: any ChannelGateway
    private let logger: Logger

    /// - Parameters:
    ///   - gateway: the lane's gateway, for apps, certificates and the time.
    ///   - registrations: the lane's store.
    ///   - messages: the lane's store of what became of messages.
    ///   - channels: the lane's way to broadcast channels.
    public init(
        gateway: any MessageGateway,
        registrations: RegistrationStore,
        messages: MessageRecordStore,
        channels: any ChannelGateway,
        logger: Logger,
    ) {
        self.gateway = gateway
        self.registrations = registrations
        self.messages = messages
        self.channels = channels
        self.logger = logger
    }

    /// The route of a request as a pattern, such as `/v1/devices/{installation}`, which holds nothing of what was sent; nil
    /// where there is none.
    public static func route(of request: HTTPRequest) -> String? {
        request.pathSegments.flatMap { try? ClientRoute(method: request.method, segments: $0) }?.pattern
    }

    /// Answers one request.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let wanted: ClientRequest
        do throws(ClientError) {
            wanted = try ClientRequest(request, gateway: gateway)
        } catch {
            logger.debug(
                "refused a phone's request",
                ["code": .string(error.code.rawValue), "field": .string(error.field ?? "")],
            )
            return error.response
        }
        do throws(GatewayUnavailable) {
            return try await perform(wanted)
        } catch {
            return ClientError(error).response
        }
    }

    private func perform(_ wanted: ClientRequest) async throws(GatewayUnavailable) -> HTTPResponse {
        switch wanted {
        case .putDevice(let device, let owner):
            let outcome = try await registrations.putDevice(device, for: owner)
            return ClientAnswer.registration(outcome, of: device.token)
        case .putActivity(let activity, let owner):
            let outcome = try await registrations.putActivity(activity, for: owner)
            return ClientAnswer.registration(outcome, of: activity.token)
        case .deleteDevice(let owner, let sequence):
            return ClientAnswer.clear(try await registrations.deleteDevice(of: owner, sequence: sequence))
        case .clearActivity(let laID, let owner, let sequence):
            return ClientAnswer.clear(try await registrations.clearActivity(laID, of: owner, sequence: sequence))
        case .clearActivities(let owner, let sequence):
            return ClientAnswer.clear(try await registrations.clearActivities(of: owner, sequence: sequence))
        case .putStartToken(let start, let owner):
            let outcome = try await registrations.putStartToken(start, for: owner)
            return ClientAnswer.registration(outcome, of: start.token)
        case .clearStartToken(let type, let owner, let sequence):
            return ClientAnswer.clear(
                try await registrations.clearStartToken(type, of: owner, sequence: sequence)
            )
        case .reportPresence(let presence, let owner):
            return ClientAnswer.presence(try await registrations.reportPresence(presence, of: owner))
        case .listRegistrations(let identity):
            let records = try await registrations.registrations(of: identity.account, in: identity.sdkAppID)
            return ClientAnswer.registrations(records)
        case .showMessages(let key, let sdkAppID):
            let records = try await messages.messages(withKey: key, in: sdkAppID)
            guard !records.isEmpty else { return ClientAPI.unknownMessage }
            return ClientAnswer.messages(records, key: key)
        case .cancelMessages(let key, let identity):
            return try await cancelMessages(key, identity)
        case .channels(let order):
            do throws(ChannelFault) {
                return ClientAnswer.channels(try await channels.perform(order))
            } catch {
                return ClientError(error).response
            }
        }
    }

    private func cancelMessages(
        _ key: String,
        _ identity: ClientIdentity,
    ) async throws(GatewayUnavailable) -> HTTPResponse {
        let count = try await messages.cancel(messagesWithKey: key, in: identity.sdkAppID, by: identity.account)
        guard count == 0 else { return ClientAnswer.cancelled(count) }
        let records = try await messages.messages(withKey: key, in: identity.sdkAppID)
        guard !records.isEmpty else { return ClientAPI.unknownMessage }
        // The first to cancel it stands in the record.
        guard records.contains(where: { $0.schedule == nil }) else { return ClientAnswer.cancelled(0) }
        return ClientError(.alreadySent, "the message is on its way or was sent, and does not wait for its time")
            .response
    }

    private static let unknownMessage =
        ClientError(.unknownMessage, "the app has no message with this key").response
}
