extension Phone {
    /// Takes a broadcast for the activities that pushes have started with its channel, and that have no tokens.
    ///
    /// - Parameter isStored: whether the channel had stored it, and the newest of these activities asks for it.
    /// - Returns: to how many of them it came.
    mutating func receive(
        _ broadcast: ChannelRequestCheck.Broadcast,
        environment: APNsEnvironment,
        isStored: Bool,
        time: UnixTime,
    ) -> Int {
        var followers = activities.indices.filter { activities[$0].follows(broadcast, in: environment) }
        if isStored { followers = followers.suffix(1) }
        for index in followers {
            let ignored: Ignored?
            do throws(PayloadFault) {
                let (event, timestamp) = try Phone.check(
                    broadcast.payload,
                    isStored: isStored,
                    now: time.wholeSeconds,
                )
                if event == "start" { throw PayloadFault(reason: .startNeedsStartToken) }
                ignored = change(
                    index,
                    broadcast.payload,
                    isEnd: event == "end",
                    timestamp: timestamp,
                    priority: broadcast.priority,
                    bundleID: broadcast.bundleID,
                    now: time.wholeSeconds,
                )
            } catch {
                activities[index].countIgnored()
                ignored = .push(error.reason)
            }
            remember(
                Phone.outcome(ignoring: ignored),
                kind: broadcast.payload.event?.string ?? PushType.liveactivity.rawValue,
                activity: activities[index].name,
                token: nil,
                time: time,
            )
        }
        return followers.count
    }
}
