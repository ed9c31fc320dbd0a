import APNs
import Testing
import VerbatimJSON

@Suite("Requests about broadcast channels", .serialized, .timeLimit(.minutes(5)))
struct ChannelRequestTests {
    private static let channel = "dHN0LXNyY2gtY2hubA=="

    private func request(
        _ operation: APNsChannelRequest.Operation,
        _ bundleID: String = "com.ex.app",
    ) -> APNsChannelRequest {
        APNsChannelRequest(
            bundleID: bundleID,
            operation: operation,
            requestID: "123e4567-e89b-12d3-a456-426614174000",
        )
    }

    private func broadcast(_ channelID: String = channel) -> APNsChannelRequest {
        request(
            .broadcast(
                channelID: channelID,
                priority: 5,
                expiration: 0,
                payload: Array(#"{"aps":{"event":"update","timestamp":1796007172,"content-state":{}}}"#.utf8),
            )
        )
    }

    @Test("C75: channels are managed on Apple's paths, the id comes from a header, and 201 and 204 are success")
    func management() async throws {
        let peer = try await HTTP2Peer(#"{"channels": 3}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let created = try #require(await lane.send(request(.create(storagePolicy: 1)), key: key).response)
            #expect(created.status == 201)
            #expect(created.channelID == Self.channel)
            #expect(created.apnsID == "123E4567-E89B-12D3-A456-426614174000")
            #expect(APNsReaction.of(created) == .accepted)
            let read = try #require(await lane.send(request(.read(channelID: Self.channel)), key: key).response)
            #expect(read.status == 200)
            #expect(String(decoding: read.body, as: UTF8.self).contains(#""message-storage-policy":1"#))
            let list = try #require(await lane.send(request(.list), key: key).response)
            #expect(try JSONDocument(parsing: list.body).root["channels"]?.elements.count == 3)
            let deleted = try #require(await lane.send(request(.delete(channelID: Self.channel)), key: key).response)
            #expect(deleted.status == 204)
            #expect(APNsReaction.of(deleted) == .accepted)
        }
        let requests = try await peer.lines("request")
        let paths = requests.map {
            "\($0["request"]?[":method"]?.string ?? "") \($0["request"]?[":path"]?.string ?? "")"
        }
        #expect(
            paths == [
                "POST /1/apps/com.ex.app/channels", "GET /1/apps/com.ex.app/channels",
                "GET /1/apps/com.ex.app/all-channels",
                "DELETE /1/apps/com.ex.app/channels",
            ]
        )
        #expect(
            requests.map { $0["body"]?.string }
                == [#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#, "", "", ""]
        )
        #expect(requests.map { $0["request"]?["apns-channel-id"]?.string } == [nil, Self.channel, nil, Self.channel])
        for line in requests {
            let names = try #require(line["names"]).elements.compactMap(\.string)
            let allowed: Set = [
                ":method", ":scheme", ":authority", ":path", "authorization", "apns-channel-id", "apns-request-id",
            ]
            #expect(Set(names).isSubset(of: allowed) && Set(names).count == names.count)
            let neverIndexed = Set(try #require(line["neverIndexed"]).elements.compactMap(\.string))
            #expect(neverIndexed == [":path", "authorization", "apns-request-id"])
        }
    }

    @Test("C76: a broadcast goes to the bundle id without a suffix, without a topic, with expiration 0")
    func broadcasting() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(broadcast(), key: key).status == 200)
        }
        let line = try #require(try await peer.lines("request").first)
        let headers = try #require(line["request"])
        #expect(headers[":path"]?.string == "/4/broadcasts/apps/com.ex.app")
        #expect(headers["apns-channel-id"]?.string == Self.channel)
        #expect(headers["apns-push-type"]?.string == "liveactivity")
        #expect(headers["apns-priority"]?.string == "5")
        #expect(headers["apns-expiration"]?.string == "0")
        #expect(headers["apns-request-id"]?.string == "123e4567-e89b-12d3-a456-426614174000")
        #expect(line["names"]?.elements.count == 10)
        #expect(line["body"]?.string?.contains(#""content-state":{}"#) == true)
    }

    @Test("A list of all the 10,000 channels that an app may have comes whole")
    func longList() async throws {
        let peer = try await HTTP2Peer(#"{"channels": 10000}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let list = try #require(await lane.send(request(.list), key: key).response)
            let ids = try #require(try JSONDocument(parsing: list.body).root["channels"]?.elements)
            #expect(ids.count == 10_000)
            #expect(ids.last?.string == "c00000000000000000009999")
        }
    }

    @Test("Each service has connections of its own, and all of them one provider token")
    func ownConnections() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(), key: key).status == 200)
            #expect(await lane.send(broadcast(), key: key).status == 200)
            #expect(await lane.send(request(.list), key: key).status == 200)
            #expect(await lane.send(broadcast(), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 3)
        #expect(try await peer.values(of: "authorization").count == 1)
    }

    @Test("What a channel service refuses holds no push to a device, nor the next request about channels of the app")
    func refusals() async throws {
        let answers = #"[[403, "TopicMismatch"], [400, "FeatureNotEnabled"], [403, "InvalidProviderToken"]]"#
        let peer = try await HTTP2Peer(#"{"answers": \#(answers)}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(request(.list), key: key).response?.reason == "TopicMismatch")
            #expect(await lane.send(request(.list), key: key).response?.reason == "FeatureNotEnabled")
            #expect(await lane.send(request(.list), key: key).response?.reason == "InvalidProviderToken")
            #expect(await lane.send(request(.list), key: key) == .held(APNsHold(reason: "InvalidProviderToken")))
            #expect(await lane.send(broadcast(), key: key).status == 200)
            #expect(await lane.send(Samples.request(), key: key).status == 200)
        }
    }

    @Test(
        "A value that no path or header can hold is answered here",
        arguments: [
            ("com.ex.app/channels", channel, "BadPath"), ("", channel, "BadPath"), ("com.ex app", channel, "BadPath"),
            ("com.ex.app", "", "BadChannelId"), ("com.ex.app", "a\r\nb: c", "BadChannelId"),
            ("com.ex.app", String(repeating: "a", count: 513), "BadChannelId"),
        ]
    )
    func impossible(bundleID: String, channelID: String, reason: String) async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcome = await lane.send(request(.read(channelID: channelID), bundleID), key: key)
            #expect(outcome.response == APNsResponse(status: 400, reason: reason))
        }
        #expect(try await peer.lines("request").isEmpty)
    }
}
