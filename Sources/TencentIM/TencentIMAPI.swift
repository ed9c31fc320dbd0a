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
    private var randomNumbers = BufferedRandomNumberGenerator()

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
        let endpoint = Endpoint(request)
        do throws(TencentError) {
            guard let endpoint else {
                throw TencentError(.unknownResource, "there is no such command")
            }
            return try await respond(to: request, endpoint)
        } catch {
            return refusal(error, endpoint)
        }
    }

    @inline(never)
    private func refusal(_ error: TencentError, _ endpoint: Endpoint?) -> HTTPResponse {
        logger?.info(
            "request refused",
            [
                "endpoint": .string(endpoint?.rawValue ?? "unknown"),
                "error_code": .count(error.code.rawValue),
                "error_info": .string(error.infoWithoutNumbers),
            ],
        )
        return Answer.failure(error, endpoint)
    }

    private func respond(to request: HTTPRequest, _ endpoint: Endpoint) async throws(TencentError) -> HTTPResponse {
        if let form = ChatMessage.Form(endpoint) {
            try await send(try sending(request, form, endpoint))
        } else {
            try await perform(request, endpoint)
        }
    }

    @inline(never)
    private func perform(_ request: HTTPRequest, _ endpoint: Endpoint) async throws(TencentError) -> HTTPResponse {
        let caller = try caller(of: request)
        let accounts = AccountCommands(gateway: gateway, sdkAppID: caller.application.sdkAppID)
        return switch endpoint {
        case .sendMessage, .batchSendMessage, .pushBatch, .pushAll, .messageAll, .messageGroup:
            throw TencentError(.unknownResource, "there is no such command")
        case .revoke: try await revoke(request.body, caller)
        case .pushTrace: try await trace(caller).ofPush(request.body)
        case .memberPushTrace: try await trace(caller).ofMember(request.body)
        case .pushStatistics:
            try await PushStatistics(records: try knownRecords(), sdkAppID: caller.application.sdkAppID)
                .answer(request.body)
        case .importAccount: try await accounts.importOne(request.body)
        case .importAccounts: try await accounts.importMany(request.body)
        case .checkAccounts: try await accounts.check(request.body)
        case .deleteAccounts: try await accounts.delete(request.body)
        }
    }

    private func caller(of request: HTTPRequest) throws(TencentError) -> Caller {
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
        return caller
    }

    private func revoke(_ body: [UInt8], _ caller: Caller) async throws(TencentError) -> HTTPResponse {
        guard let revoker else { throw TencentError(GatewayUnavailable(.nothingToExplain)) }
        return try await PushRevocation(revoker: revoker, caller: caller, now: gateway.now().seconds)
            .answer(body, randomNumbers: &randomNumbers)
    }

    private func trace(_ caller: Caller) throws(TencentError) -> PushTrace {
        PushTrace(records: try knownRecords(), sdkAppID: caller.application.sdkAppID, now: gateway.now().seconds)
    }

    private func knownRecords() throws(TencentError) -> any MessageRecords {
        guard let records else { throw TencentError(GatewayUnavailable(.nothingToExplain)) }
        return records
    }

    // MARK: - Sending

    /// A message on its way through one of the sending commands.
    ///
    /// A class: as values in the frames of async functions, message and order would make each call some mallocs of
    /// kilobytes.
    ///
    /// For the same reason what happens without suspension is `@inline(never)` here: inlined, its values would count
    /// towards the frame of the async function.
    private final class Sending {
        let form: ChatMessage.Form
        let endpoint: Endpoint
        let application: Application
        var message: ChatMessage
        /// The sender's, where the notification shows it.
        var nickname: String?
        /// What the caller should know.
        var warnings: [RequestWarning] = []

        init(_ message: ChatMessage, _ form: ChatMessage.Form, _ endpoint: Endpoint, _ application: Application) {
            self.form = form
            self.endpoint = endpoint
            self.application = application
            self.message = message
        }

        var recipientsMustBeImported: Bool {
            @inline(never) get { application.requiresImportedAccounts && !message.recipients.accounts.isEmpty }
        }

        var hasNobody: Bool {
            @inline(never) get { message.recipients.accounts.isEmpty && message.audience == nil }
        }

        var showsNickname: Bool {
            @inline(never) get { message.showsDerivedText(in: application.placeholderLanguage) }
        }

        var sendAt: UnixTime? { message.sendTime.map { UnixTime(seconds: $0) } }

        /// Whether a schema checks its content now: what waits is checked when it is sent.
        @inline(never)
        func isChecked(at now: UnixTime) -> Bool {
            application.contentSchemas != nil && sendAt.map { $0 <= now } ?? true
        }

        func prepared() throws(TencentError) -> ChatMessage.Prepared {
            try message.prepare(endpoint: endpoint, application: application, nickname: nickname)
        }

        @inline(never)
        func heed(_ review: ContentReview) throws(TencentError) {
            try warnings.heed(review)
        }

        func planned(_ prepared: ChatMessage.Prepared) -> PlannedOrder {
            PlannedOrder(
                order: prepared.order,
                digest: prepared.digest,
                sendAt: sendAt,
                isPushToAll: form == .pushAll || form == .messageAll,
            )
        }

        @inline(never)
        func answer(_ acceptance: Acceptance) -> HTTPResponse {
            switch form {
            case .single: Answer.sent(message, acceptance, warnings)
            case .batch: Answer.batchSent(message, acceptance, warnings)
            case .push: Answer.pushed(message, acceptance, warnings)
            case .pushAll, .messageAll: Answer.pushedToAll(acceptance, warnings)
            case .group: Answer.groupSent(message, acceptance, warnings)
            }
        }
    }

    @inline(never)
    private func sending(
        _ request: HTTPRequest,
        _ form: ChatMessage.Form,
        _ endpoint: Endpoint,
    ) throws(TencentError) -> Sending {
        let caller = try caller(of: request)
        let message = try message(decoding: request.body, form, caller)
        switch form {
        case .single, .pushAll, .messageAll: break
        case .batch: try caller.countRecipients(message.recipients.accounts.count, code: .batchTooFrequent)
        case .push, .group:
            try caller.countRecipients(message.recipients.accounts.count, code: .tooManyRequests)
        }
        return Sending(message, form, endpoint, caller.application)
    }

    private func send(_ sending: Sending) async throws(TencentError) -> HTTPResponse {
        if sending.recipientsMustBeImported {
            try await requireImportedAccounts(sending)
        }
        guard !sending.hasNobody else { throw TencentError(.unknownRecipient, "invalid To_Account") }
        if sending.form == .group {
            try await checkGroup(sending)
        }
        if sending.form == .pushAll || sending.form == .messageAll {
            try await warnOfEmptyTags(sending)
        }
        if sending.showsNickname {
            sending.nickname = try await nickname(sending)
        }
        let isChecked = sending.isChecked(at: gateway.now())
        let order = isChecked ? try await checkedOrder(sending) : try order(sending)
        do {
            return sending.answer(try await gateway.accept(order))
        } catch {
            throw TencentError(error)
        }
    }

    @inline(never)
    private func requireImportedAccounts(_ sending: Sending) async throws(TencentError) {
        let accounts = sending.message.recipients.accounts
        let imported = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.importedAccounts(among: accounts, in: sending.application.sdkAppID)
        }
        sending.message.recipients.require(imported: imported)
        let failed = sending.message.recipients.failures.count
        guard sending.form != .group || failed == 0 else {
            throw TencentError(.groupAccountUnknown, path: "To_Account", "\(failed) accounts are not imported")
        }
    }

    /// What the gateway is to do.
    @inline(never)
    private func order(_ sending: Sending) throws(TencentError) -> PlannedOrder {
        let prepared = try sending.prepared()
        sending.warnings = prepared.warnings
        return sending.planned(prepared)
    }

    /// The same, checked by the app's schemas.
    @inline(never)
    private func checkedOrder(_ sending: Sending) async throws(TencentError) -> PlannedOrder {
        let order = try order(sending)
        let review = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.review(order.order)
        }
        guard let review else { return order }
        try sending.heed(review)
        return review.fitsAll == nil ? order : order.fitting(review.fitsAll)
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
    @inline(never)
    private func checkGroup(_ sending: Sending) async throws(TencentError) {
        guard case .segments(let all, _) = sending.message.audience, let group = all.first else { return }
        let isKnown = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.hasSegment(group, in: sending.application.sdkAppID)
        }
        guard isKnown else {
            throw TencentError(.groupUnknown, path: "GroupId", "there is no segment of this name, and no To_Account")
        }
    }

    /// Tells which tags reach nobody, at most twenty.
    @inline(never)
    private func warnOfEmptyTags(_ sending: Sending) async throws(TencentError) {
        guard case .segments(let all, let any) = sending.message.audience else { return }
        for (list, tags) in [("TagsAnd", all), ("TagsOr", any)] {
            for (index, tag) in tags.enumerated() {
                let isFilled = try await TencentError.translating { () async throws(GatewayUnavailable) in
                    try await gateway.hasSegment(tag, in: sending.application.sdkAppID)
                }
                guard !isFilled else { continue }
                let message = "nobody is in the segment of this name now"
                let field = "Condition.\(list)[\(index)]"
                sending.message.warnings.append(RequestWarning(field: field, code: .segmentEmpty, message: message))
            }
        }
    }

    @inline(never)
    private func nickname(_ sending: Sending) async throws(TencentError) -> String? {
        try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.nickname(of: sending.message.sender, in: sending.application.sdkAppID)
        }
    }
}
