public import Gateway
public import HTTPServer
public import Logging

/// Tencent's server API as chat backends call it: everything under `/v4`.
///
/// Decodes and checks a request, hands it to the gateway, and answers in Tencent's words: HTTP 200 always, the outcome
/// in the body. One object per lane, used on that lane's thread.
public final class TencentIMAPI {
    /// The commands that it knows: their paths below `/v4/`.
    public static let commands = Endpoint.allCases.map(\.rawValue)

    private let gateway: any MessageGateway
    private let records: (any MessageRecords)?
    private let revoker: (any MessageRevoker)?
    private let logger: Logger?
    private var signatures = UserSigCache()
    private var randomNumbers = SystemRandomNumberGenerator()

    /// - Parameters:
    ///   - records: tells what became of messages; nil: that cannot be asked for.
    ///   - revoker: takes messages back; nil: that cannot be asked for.
    ///   - logger: gets a line for each request that is refused, without anything the request contained.
    public init(
        gateway: any MessageGateway,
        records: (any MessageRecords)? = nil,
        revoker: (any MessageRevoker)? = nil,
        logger: Logger?,
    ) {
        self.gateway = gateway
        self.records = records
        self.revoker = revoker
        self.logger = logger
    }

    /// Answers a request whose path begins with `/v4`.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let endpoint = Endpoint(pathSegments: request.pathSegments)
        do throws(TencentError) {
            guard let endpoint else {
                throw TencentError(.unknownResource, "there is no such command")
            }
            return try await respond(to: request, endpoint)
        } catch {
            logger?.info(
                "request refused",
                [
                    "endpoint": .string(endpoint?.rawValue ?? "unknown"),
                    "error_code": .count(error.code.rawValue),
                    "error_info": .string(error.info),
                ],
            )
            return Answer.failure(error, endpoint)
        }
    }

    private func respond(to request: HTTPRequest, _ endpoint: Endpoint) async throws(TencentError) -> HTTPResponse {
        guard request.method == "POST" else {
            throw TencentError(.httpParse, "HTTP parse Error: the method must be POST")
        }
        let caller = try Caller(
            parameters: request.queryItems,
            application: gateway.application,
            signatures: &signatures,
            now: gateway.now().seconds,
        )
        try caller.countRequest()
        let accounts = AccountCommands(gateway: gateway, sdkAppID: caller.application.sdkAppID)
        return switch endpoint {
        case .sendMessage: try await send(request.body, .single, caller, endpoint)
        case .batchSendMessage: try await send(request.body, .batch, caller, endpoint)
        case .pushBatch: try await send(request.body, .push, caller, endpoint)
        case .pushAll: try await send(request.body, .pushAll, caller, endpoint)
        case .messageAll: try await send(request.body, .messageAll, caller, endpoint)
        case .messageGroup: try await send(request.body, .group, caller, endpoint)
        case .revoke: try await revoke(request.body, caller)
        case .pushTrace: try await trace(caller).ofPush(request.body)
        case .memberPushTrace: try await trace(caller).ofMember(request.body)
        case .importAccount: try await accounts.importOne(request.body)
        case .importAccounts: try await accounts.importMany(request.body)
        case .checkAccounts: try await accounts.check(request.body)
        case .deleteAccounts: try await accounts.delete(request.body)
        }
    }

    private func revoke(_ body: [UInt8], _ caller: Caller) async throws(TencentError) -> HTTPResponse {
        guard let revoker else { throw TencentError(GatewayUnavailable(.nothingToExplain)) }
        return try await PushRevocation(revoker: revoker, caller: caller, now: gateway.now().seconds)
            .answer(body, randomNumbers: &randomNumbers)
    }

    private func trace(_ caller: Caller) throws(TencentError) -> PushTrace {
        guard let records else { throw TencentError(GatewayUnavailable(.nothingToExplain)) }
        return PushTrace(records: records, sdkAppID: caller.application.sdkAppID, now: gateway.now().seconds)
    }

    private func send(
        _ body: [UInt8],
        _ form: ChatMessage.Form,
        _ caller: Caller,
        _ endpoint: Endpoint,
    ) async throws(TencentError) -> HTTPResponse {
        let application = caller.application
        var message = try message(decoding: body, form, caller)
        switch form {
        case .single, .pushAll, .messageAll: break
        case .batch: try caller.countRecipients(message.recipients.accounts.count, code: .batchTooFrequent)
        case .push, .group:
            try caller.countRecipients(message.recipients.accounts.count, code: .tooManyRequests)
        }
        if application.requiresImportedAccounts, !message.recipients.accounts.isEmpty {
            let accounts = message.recipients.accounts
            let imported = try await TencentError.translating { () async throws(GatewayUnavailable) in
                try await gateway.importedAccounts(among: accounts, in: application.sdkAppID)
            }
            message.recipients.require(imported: imported)
            let failed = message.recipients.failures.count
            guard form != .group || failed == 0 else {
                throw TencentError(.groupAccountUnknown, path: "To_Account", "\(failed) accounts are not imported")
            }
        }
        guard !message.recipients.accounts.isEmpty || message.audience != nil else {
            throw TencentError(.unknownRecipient, "invalid To_Account")
        }
        if form == .group {
            try await checkGroup(of: message, application)
        }
        var prepared = try message.prepare(
            endpoint: endpoint,
            application: application,
            nickname: try await nickname(for: message, application),
        )
        let sendAt = message.sendTime.map { UnixTime(seconds: $0) }
        // What waits is checked when it is sent.
        let isDue = sendAt.map { $0 <= gateway.now() } ?? true
        if application.contentSchemas != nil, isDue {
            let order = prepared.order
            let review = try await TencentError.translating { () async throws(GatewayUnavailable) in
                try await gateway.review(order)
            }
            if let review {
                try prepared.heed(review)
            }
        }
        let acceptance = try await TencentError.translating { () async throws(GatewayUnavailable) in
            guard let sendAt else { return try await gateway.accept(prepared.order, digest: prepared.digest) }
            let planned = PlannedOrder(order: prepared.order, digest: prepared.digest, sendAt: sendAt)
            guard let acceptance = try await gateway.accept([planned]).first else {
                throw GatewayUnavailable(.databaseRefused)
            }
            return acceptance
        }
        return switch form {
        case .single: Answer.sent(message, acceptance, prepared.warnings)
        case .batch: Answer.batchSent(message, acceptance, prepared.warnings)
        case .push: Answer.pushed(message, acceptance, prepared.warnings)
        case .pushAll, .messageAll: Answer.pushedToAll(acceptance, prepared.warnings)
        case .group: Answer.groupSent(message, acceptance, prepared.warnings)
        }
    }

    private func message(
        decoding body: [UInt8],
        _ form: ChatMessage.Form,
        _ caller: Caller,
    ) throws(TencentError) -> ChatMessage {
        let now = gateway.now().seconds
        return switch form {
        case .single, .batch:
            try ChatMessage(
                decoding: body,
                form: form,
                sender: caller.identifier,
                allowsExtensions: caller.application.allowsExtensions,
                now: now,
                randomNumbers: &randomNumbers,
            )
        case .push:
            try ChatMessage(
                decodingPush: body,
                sender: caller.identifier,
                sdkAppID: caller.application.sdkAppID,
                allowsExtensions: caller.application.allowsExtensions,
                now: now,
                randomNumbers: &randomNumbers,
            )
        case .pushAll, .messageAll:
            try ChatMessage(
                decodingToAll: body,
                form: form,
                sender: caller.identifier,
                sdkAppID: caller.application.sdkAppID,
                allowsExtensions: caller.application.allowsExtensions,
                now: now,
                randomNumbers: &randomNumbers,
            )
        case .group:
            try ChatMessage(
                decodingGroup: body,
                sender: caller.identifier,
                allowsExtensions: caller.application.allowsExtensions,
                now: now,
                randomNumbers: &randomNumbers,
            )
        }
    }

    /// Whether the segment is there that a group's message goes to. One with nobody in it is no group.
    private func checkGroup(of message: ChatMessage, _ application: Application) async throws(TencentError) {
        guard case .segments(let all, _) = message.audience, let group = all.first else { return }
        let isKnown = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.hasSegment(group, in: application.sdkAppID)
        }
        guard isKnown else {
            throw TencentError(.groupUnknown, path: "GroupId", "there is no segment of this name, and no To_Account")
        }
    }

    /// The sender's nickname, if the notification shows it.
    private func nickname(
        for message: ChatMessage,
        _ application: Application,
    ) async throws(TencentError) -> String? {
        guard message.showsDerivedText(in: application.placeholderLanguage) else { return nil }
        return try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.nickname(of: message.sender, in: application.sdkAppID)
        }
    }
}
