import APNs
import LiveActivity
import Logging
import PostgresClient
import VerbatimJSON

/// Broadcast channels on one lane: asks APNs and writes down what it answered.
///
/// Nothing is repeated here: the caller waits for the answer and knows what a repetition means.
final class BroadcastChannels: ChannelGateway {
    private let client: APNsClient
    /// For what has happened, and what a caller waits for.
    private let store: ChannelStore
    private let callers: ChannelStore
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let logger: Logger

    init(
        client: APNsClient,
        store: ChannelStore,
        callers: ChannelStore,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        logger: Logger,
    ) {
        self.client = client
        self.store = store
        self.callers = callers
        self.instance = instance
        self.directory = directory
        self.logger = logger
    }

    func perform(_ order: ChannelOrder) async throws(ChannelFault) -> ChannelAnswer {
        let target = try ChannelTarget(of: order, in: directory)
        switch order.operation {
        case .create(let storage): return try await create(storage, order, target)
        case .read(let id): return try await read(id, order, target)
        case .list: return try await list(order, target)
        case .delete(let id): return try await delete(id, order, target)
        case .send(let message): return try await send(message, order, target)
        }
    }

    // MARK: - Management

    private func create(
        _ storage: ChannelStorage,
        _ order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> ChannelAnswer {
        let request = try await begin("create", channelID: nil, order, target)
        let response = try await ask(.create(storagePolicy: storage.rawValue), request, target)
        guard let id = response.channelID, !id.isEmpty else {
            // The channel is there and nobody knows its id but a list.
            throw .refused(
                status: response.status,
                reason: "no apns-channel-id",
                retryAfter: nil,
                requestID: request.requestID
            )
        }
        await note { (store) throws(PostgresError) in try await store.created(id, storage, by: request, target) }
        return answer(.channel(id: id, storage: storage), request, target)
    }

    private func read(
        _ id: String,
        _ order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> ChannelAnswer {
        let request = try await begin("read", channelID: id, order, target)
        let response = try await ask(.read(channelID: id), request, target)
        let root = try? JSONDocument(parsing: response.body).root
        guard let policy = root?["message-storage-policy"]?.integer,
            let storage = Int(exactly: policy).flatMap(ChannelStorage.init(rawValue:))
        else { throw unreadable(response, request) }
        return answer(.channel(id: id, storage: storage), request, target)
    }

    private func list(_ order: ChannelOrder, _ target: ChannelTarget) async throws(ChannelFault) -> ChannelAnswer {
        let request = try await begin("list", channelID: nil, order, target)
        let response = try await ask(.list, request, target)
        guard let channels = (try? JSONDocument(parsing: response.body))?.root["channels"], channels.kind == .array
        else { throw unreadable(response, request) }
        let ids = channels.elements.compactMap(\.string)
        guard ids.count == channels.elements.count else { throw unreadable(response, request) }
        let storages = try await stored { (store) throws(PostgresError) in try await store.storages(target) }
        let listed = ids.map { ListedChannel(id: $0, storage: storages[$0]) }
        return answer(.channels(listed), request, target)
    }

    private func delete(
        _ id: String,
        _ order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> ChannelAnswer {
        let request = try await begin("delete", channelID: id, order, target)
        var wasRegistered = true
        do throws(ChannelFault) {
            _ = try await ask(.delete(channelID: id), request, target)
        } catch {
            // What is not there is deleted.
            guard case .refused(_, "ChannelNotRegistered", _, _) = error else { throw error }
            wasRegistered = false
        }
        await note { (store) throws(PostgresError) in try await store.forget(id, target) }
        return answer(.deleted(wasRegistered: wasRegistered), request, target)
    }

    // MARK: - Sending

    private func send(
        _ message: ChannelMessage,
        _ order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> ChannelAnswer {
        let id = message.channelID
        let now = (instance.time(at: .now) ?? .systemClock).seconds
        let schemas = directory.current.applications[order.sdkAppID]?.contentSchemas
        let broadcast = try ChannelBroadcast(message, target, by: schemas, now: now)
        let storage = try await storage(of: id, order, target)
        var (push, findings) = try broadcast.push(storing: storage)
        let request = try await stored { [push, findings] (store) throws(PostgresError) in
            try await store.begin(push, to: id, storing: storage, warnings: findings, by: order, target)
        }
        push.timestamp = request.timestamp
        let payload = push.payload
        let operation = APNsChannelRequest.Operation.broadcast(
            channelID: id,
            priority: push.priority,
            expiration: push.expiration,
            payload: payload,
        )
        do throws(ChannelFault) {
            _ = try await ask(operation, request, target)
        } catch {
            if case .refused(_, "ChannelNotRegistered", _, _) = error {
                await note { (store) throws(PostgresError) in try await store.forget(id, target) }
            }
            throw error
        }
        let sent = SentChannelMessage(
            timestamp: push.timestamp,
            priority: push.priority,
            expiration: push.expiration,
            payloadBytes: payload.count,
            warnings: findings,
        )
        return answer(.sent(sent), request, target)
    }

    /// What the channel stores decides which expiration it takes. APNs is asked where nobody has made or used it here.
    private func storage(
        of id: String,
        _ order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> ChannelStorage {
        let known = try await stored { (store) throws(PostgresError) in try await store.storage(of: id, target) }
        if let known { return known }
        let found = try await read(id, order, target)
        guard case .channel(_, let storage) = found.outcome else { return .none }
        return storage
    }

    // MARK: - APNs

    private func begin(
        _ operation: String,
        channelID: String?,
        _ order: ChannelOrder,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> ChannelStore.Begun {
        try await stored { (store) throws(PostgresError) in
            try await store.begin(operation, channelID: channelID, by: order, target)
        }
    }

    /// Asks APNs and writes down what came of it.
    private func ask(
        _ operation: APNsChannelRequest.Operation,
        _ request: ChannelStore.Begun,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> APNsResponse {
        let apnsRequest = APNsChannelRequest(
            bundleID: target.certificate.bundleID,
            operation: operation,
            requestID: request.requestID,
        )
        let outcome = await withCheckedContinuation { continuation in
            client.send(apnsRequest, signedBy: target.certificate.key, to: target.environment) {
                continuation.resume(returning: $0)
            }
        }
        var end: ChannelStore.End
        let fault: ChannelFault
        switch outcome {
        case .responded(let response):
            if APNsReaction.of(response) == .accepted {
                end = ChannelStore.End(outcome: "accepted_by_apns", status: response.status)
                await note { [end] (store) throws(PostgresError) in try await store.finish(request, end) }
                return response
            }
            let reason = response.reason ?? "status \(response.status)"
            end = ChannelStore.End(outcome: "refused", status: response.status, reason: reason)
            fault = .refused(
                status: response.status,
                reason: reason,
                retryAfter: response.retryAfterSeconds,
                requestID: request.requestID,
            )
        case .held(let hold):
            end = ChannelStore.End(outcome: "held", reason: hold.reason)
            fault = .held(reason: hold.reason, requestID: request.requestID)
        case .unanswered(let failure, let mayHaveBeenProcessed):
            end = ChannelStore.End(
                outcome: "no_answer",
                reason: failure.reason,
                mayHaveBeenProcessed: mayHaveBeenProcessed,
            )
            fault = .unanswered(
                reason: failure.reason,
                mayHaveBeenProcessed: mayHaveBeenProcessed,
                requestID: request.requestID,
            )
        }
        await note { [end] (store) throws(PostgresError) in try await store.finish(request, end) }
        throw fault
    }

    private func unreadable(_ response: APNsResponse, _ request: ChannelStore.Begun) -> ChannelFault {
        .refused(
            status: response.status,
            reason: "the answer's body is not Apple's",
            retryAfter: nil,
            requestID: request.requestID,
        )
    }

    private func answer(
        _ outcome: ChannelAnswer.Outcome,
        _ request: ChannelStore.Begun,
        _ target: ChannelTarget,
    ) -> ChannelAnswer {
        ChannelAnswer(
            bundleID: target.certificate.bundleID,
            environment: target.environment,
            requestID: request.requestID,
            outcome: outcome,
        )
    }

    // MARK: - PostgreSQL

    private func stored<Value>(
        _ body: (ChannelStore) async throws(PostgresError) -> Value
    ) async throws(ChannelFault) -> Value {
        do throws(PostgresError) {
            return try await body(callers)
        } catch {
            throw .unavailable(GatewayUnavailable(error, alarms: instance.alarms, logger: logger))
        }
    }

    /// Writes down what has happened already: it cannot be undone where that fails, and the caller is to hear of it all the
    /// same. The request's row then says that its end is not known.
    private func note(_ body: (ChannelStore) async throws(PostgresError) -> Void) async {
        do throws(PostgresError) {
            try await body(store)
        } catch {
            logger.error("what became of a channel request could not be written down", ["error": .describing(error)])
        }
    }
}
