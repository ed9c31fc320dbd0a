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
        channels.store(push, in: place, now: request.time.wholeSeconds)
        let environment = request.environment
        let followers = tokens.followers(of: push.channelID, in: environment, topic).map { token, declaration in
            let accepted = SimulatedAPNs.push(push, to: token, topic, id: request.header("apns-request-id"))
            return deliver(accepted, environment, declaration, time: request.time)
        }
        return followers + deliver(push, environment, time: request.time)
    }

    private static func push(
        _ broadcast: ChannelRequestCheck.Broadcast,
        to token: DeviceToken,
        _ topic: PushTopic,
        id: String? = nil,
        isStored: Bool = false,
    ) -> AcceptedPush {
        AcceptedPush(
            token: token,
            topic: topic,
            pushType: .liveactivity,
            priority: broadcast.priority,
            id: id,
            collapseID: nil,
            payload: broadcast.payload,
            isStored: isStored,
        )
    }

    // MARK: - Phones that come later

    /// Brings what its channel has stored to an activity that follows it from now on.
    func deliverStored(to token: DeviceToken, _ declaration: DeclaredToken, time: UnixTime) {
        guard let channel = declaration.channel else { return }
        for place in channels.places(of: channel) where declaration.environments.contains(place.environment) {
            guard let topic = try? PushTopic(place.bundleID + PushType.liveactivity.topicSuffix),
                declaration.belongs(to: topic),
                let broadcast = channels.stored(channel, in: place, now: time.wholeSeconds)
            else { continue }
            let push = SimulatedAPNs.push(broadcast, to: token, topic, isStored: true)
            _ = deliver(push, place.environment, declaration, time: time)
        }
    }

    /// The place of the channel that a start names; nil if it names none, or one that is not there.
    func place(ofChannelIn push: AcceptedPush, _ environment: APNsEnvironment) -> (id: String, ChannelTable.Place)? {
        guard push.pushType == .liveactivity, let id = push.payload.inputPushChannel?.string else { return nil }
        let place = ChannelTable.Place(environment: environment, bundleID: push.topic.bundleID)
        return (try? channels.channel(id, in: place)) == nil ? nil : (id, place)
    }
}
