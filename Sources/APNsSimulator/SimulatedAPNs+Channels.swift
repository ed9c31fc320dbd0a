import VerbatimJSON

extension SimulatedAPNs {
    /// Takes a request about channels, does it or not, and remembers it.
    ///
    /// - Parameter service: any but `device`.
    func receiveChannelRequest(
        _ request: PushRequest,
        _ service: PushService,
        on connection: Int,
        policy: inout ProviderTokenPolicy,
    ) -> PushAnswer {
        let providerToken = Result<ProviderToken, Refusal> { () throws(Refusal) in
            try ProviderToken(authorization: request.header("authorization"))
        }
        var record = PushRecord(
            request: request,
            connection: connection,
            providerToken: try? providerToken.get(),
            end: .accepted,
            phone: nil,
            ignoredByPhone: nil,
        )
        record.channel = request.header("apns-channel-id")
        var answer: PushAnswer
        do throws(Refusal) {
            if service == .broadcast {
                record.followers = try broadcast(request, providerToken, &policy)
                answer = PushAnswer(toChannelRequest: request, status: 200)
            } else {
                answer = try manage(request, providerToken, &policy)
                record.channel = answer.channelID ?? record.channel
            }
        } catch {
            record.end = .refused(error)
            answer = PushAnswer(toChannelRequest: request, refusal: error)
        }
        record.acceptedStatus = answer.status
        if service == .broadcast {
            log.append(record)
        } else {
            managementLog.append(record)
        }
        return answer
    }

    private func manage(
        _ request: PushRequest,
        _ providerToken: Result<ProviderToken, Refusal>,
        _ policy: inout ProviderTokenPolicy,
    ) throws(Refusal) -> PushAnswer {
        let check = ChannelRequestCheck(keys: keys)
        let (bundleID, operation) = try check.operation(request, providerToken: providerToken, connection: &policy)
        let place = ChannelTable.Place(environment: request.environment, bundleID: bundleID)
        var writer = JSONWriter()
        switch operation {
        case .create(let policy):
            let id = try channels.create(policy: policy, in: place)
            return PushAnswer(toChannelRequest: request, status: 201, channelID: id)
        case .read(let id):
            let channel = try channels.channel(id, in: place)
            writer.beginObject()
            writer.member("message-storage-policy", channel.policy)
            writer.member("push-type", "LiveActivity")
            writer.endObject()
        case .list:
            writer.beginObject()
            writer.key("channels")
            writer.beginArray()
            for id in channels.ids(in: place) {
                writer.string(id)
            }
            writer.endArray()
            writer.endObject()
        case .delete(let id):
            try channels.delete(id, in: place)
            return PushAnswer(toChannelRequest: request, status: 204)
        }
        return PushAnswer(toChannelRequest: request, status: 200, body: writer.bytes)
    }

    /// - Returns: the phones that follow the channel.
    private func broadcast(
        _ request: PushRequest,
        _ providerToken: Result<ProviderToken, Refusal>,
        _ policy: inout ProviderTokenPolicy,
    ) throws(Refusal) -> [String] {
        let check = ChannelRequestCheck(keys: keys)
        let push = try check.broadcast(request, providerToken: providerToken, connection: &policy)
        let place = ChannelTable.Place(environment: request.environment, bundleID: push.bundleID)
        let channel = try channels.channel(push.channelID, in: place)
        guard channel.policy == 1 || (push.expiration ?? 0) == 0 else { throw Refusal(400, "BadExpirationDate") }
        let topic = try PushTopic(push.bundleID + PushType.liveactivity.topicSuffix)
        let followers = tokens.followers(of: push.channelID, in: request.environment, topic)
        return followers.map { token, declaration in
            let accepted = AcceptedPush(
                token: token,
                topic: topic,
                pushType: .liveactivity,
                priority: push.priority,
                id: request.header("apns-request-id"),
                collapseID: nil,
                payload: push.payload,
            )
            let environment = request.environment
            return deliver(accepted, environment, declaration, time: request.time)
        }
    }
}
