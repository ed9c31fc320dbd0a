import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import Pushwoosh

/// The requests of Pushwoosh's public page, as they stand there.
@Suite("The examples of Pushwoosh's page", .timeLimit(.minutes(1)))
struct SeedTests {
    private static func start(_ id: String, _ target: String, priority: String = "\"apns_priority\": 10,") -> String {
        """
        {
          "request": {
            "application": "XXXXX-XXXXX",
            "auth": "SECRET_API_TOKEN",
            "notifications": [
              {
                "content": "Your order is being prepared",
                "title": "Food Delivery",
                \(priority)
                "live_activity": {
                  "event": "start",
                  "title": "Order status",
                  "content-state": {
                    "status": "Third",
                    "estimatedTime": "37 min",
                    "emoji": "👨🍳"
                  },
                  "attributes-type": "FoodDeliveryAttributes",
                  "attributes": {}
                },
                "live_activity_id": "\(id)",
                \(target)
              }
            ]
          }
        }
        """
    }

    private static func payload(_ id: String) -> String {
        """
        {"aps":{"timestamp":1780401600,"event":"start","content-state":{
                    "status": "Third",
                    "estimatedTime": "37 min",
                    "emoji": "👨🍳"
                  },"attributes-type":"FoodDeliveryAttributes","attributes":{"pushwoosh":{"activityId":"\(id)"}},\
        "alert":{"title":"Food Delivery","body":"Your order is being prepared"}}}
        """
    }

    private func accepted(_ method: String, _ body: String, by backend: Backend) async throws -> PlannedOrder {
        let answer = try await backend.post(method, body)
        #expect(answer["status_code"]?.integer == 200, "\(answer["status_message"]?.string ?? "")")
        #expect(answer["response"]?["Messages"]?.elements.count == 1)
        let planned = try #require(backend.gateway.planned.first)
        #expect(planned.order.dialect == .pushwoosh)
        #expect(planned.order.sdkAppID == InMemoryGateway.sdkAppID)
        return planned
    }

    @Test("a start for a filter")
    func filter() async throws {
        let body = Self.start("FIRST_LIVE_ACTIVITY", #""filter": "FILTER_NAME_1""#)
        let planned = try await accepted("startLiveActivity", body, by: Backend())
        #expect(planned.order.audience == .segments(all: ["FILTER_NAME_1"], any: []))
        #expect(planned.order.activity?.laID == "FIRST_LIVE_ACTIVITY")
        #expect(planned.order.activity?.priority == 10)
        #expect(planned.sendAt == nil)
        #expect(try planned.payloadText() == Self.payload("FIRST_LIVE_ACTIVITY"))
        #expect(
            planned.order.notification
                == NotificationContent(title: "Food Delivery", body: "Your order is being prepared")
        )
    }

    @Test("a start for devices: names that are registered count, those that nobody knows are told")
    func devices() async throws {
        let backend = try Backend()
        let token = try PushToken(bytes: [UInt8](repeating: 7, count: 32))
        backend.gateway.tokens = ["first_third": token]
        let body = Self.start("SECOND_LIVE_ACTIVITY", #""devices": ["first_third", "second_device"]"#)
        let answer = try await backend.post("startLiveActivity", body)
        #expect(answer["status_code"]?.integer == 200)
        let code = try #require(answer["response"]?["Messages"]?.elements.first?.string)
        #expect(answer["response"]?["UnknownDevices"]?[code]?.elements.map(\.string) == ["second_device"])
        let planned = try #require(backend.gateway.planned.first)
        #expect(planned.order.audience == .devices([token]))
        #expect(try planned.payloadText() == Self.payload("SECOND_LIVE_ACTIVITY"))
    }

    @Test("a scheduled start")
    func scheduled() async throws {
        let target = #""filter": "FILTER_NAME_1", "send_date": "2026-06-16 16:00""#
        let body = Self.start("THIRD_LIVE_ACTIVITY", target, priority: "")
        let planned = try await accepted("startLiveActivity", body, by: Backend())
        // 2026-06-16T16:00:00Z.
        #expect(planned.sendAt == UnixTime(seconds: 1_781_625_600))
        #expect(planned.order.activity?.priority == nil)
        #expect(planned.order.activity?.priorityRule == .caller)
        #expect(try planned.payloadText() == Self.payload("THIRD_LIVE_ACTIVITY"))
    }

    @Test("an update for all who have the activity")
    func update() async throws {
        let body = """
            {
              "request": {
                "application": "XXXXX-XXXXX",
                "auth": "SECRET_API_TOKEN",
                "notifications": [
                  {
                    "apns_priority": 10,
                    "title": "Live Activity Update",
                    "live_activity": {
                      "event": "update",
                      "content-state": {
                        "status": "second 66",
                        "estimatedTime": "66 min",
                        "emoji": "👨"
                      },
                      "relevance-score": 60
                    },
                    "live_activity_id": "FIRST_LIVE_ACTIVITY"
                  }
                ]
              }
            }
            """
        let planned = try await accepted("updateLiveActivity", body, by: Backend())
        #expect(planned.order.audience == .activity("FIRST_LIVE_ACTIVITY"))
        #expect(planned.order.activity?.priority == 10)
        let aps = try #require(try planned.payload()["aps"])
        #expect(aps["event"]?.string == "update")
        #expect(aps["content-state"]?["estimatedTime"]?.string == "66 min")
        #expect(aps["content-state"]?["emoji"]?.string == "👨")
        #expect(aps["relevance-score"]?.integer == 60)
        #expect(aps["alert"]?.members.map(\.key) == ["title"])
        #expect(aps["alert"]?["title"]?.string == "Live Activity Update")
        #expect(aps.members.map(\.key) == ["timestamp", "event", "content-state", "relevance-score", "alert"])
    }
}
