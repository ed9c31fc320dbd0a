import LiveActivity
import Testing

@testable import Gateway

@Suite("apns-priority of a Live Activity push", .timeLimit(.minutes(5)))
struct ActivityPriorityTests {
    private static func choose(
        _ event: ActivityEvent = .update,
        alert: ActivityAlert? = nil,
        caller: Int? = nil,
        app: Int? = nil,
        isBudgetSpent: Bool = false,
    ) -> String {
        var content = Fixture.content(event)
        content.alert = alert
        var application = Fixture.application()
        application.liveActivityPriority = app
        let instruction = ActivityInstruction(
            laID: "order-7",
            content: content,
            defaultDismissal: .immediate,
            priority: caller,
        )
        let (priority, reason) = ActivityPriority(instruction, for: application)
            .choose(isBudgetSpent: isBudgetSpent)
        return "\(priority) \(reason)"
    }

    @Test("an end and an alert go at once, whatever caller and app say")
    func atOnce() {
        #expect(Self.choose(.end, caller: 5, app: 5) == "10 end")
        #expect(Self.choose(alert: ActivityAlert(title: "Now"), caller: 5, app: 5) == "10 alert")
    }

    @Test("an alert without text is none")
    func emptyAlert() {
        #expect(Self.choose(alert: ActivityAlert(sound: "default"), app: 5) == "5 app_setting")
    }

    @Test("the caller decides, then the app, then Tencent's rule")
    func order() {
        #expect(Self.choose(caller: 5, app: 10) == "5 caller")
        #expect(Self.choose(app: 5) == "5 app_setting")
        #expect(Self.choose() == "10 default")
    }

    @Test("C71: once the bucket is spent, only what follows it goes with 5")
    func budget() {
        #expect(Self.choose(isBudgetSpent: true) == "5 budget_spent")
        #expect(Self.choose(.end, isBudgetSpent: true) == "10 end")
        #expect(Self.choose(alert: ActivityAlert(title: "Now"), isBudgetSpent: true) == "10 alert")
        #expect(Self.choose(caller: 10, isBudgetSpent: true) == "10 caller")
        #expect(Self.choose(app: 10, isBudgetSpent: true) == "10 app_setting")
    }

    @Test("what goes with 10 counts in the bucket, as it does on the phone")
    func counted() {
        for counted in [.end, .alert, .budget, .caller(10), .application(10)] as [ActivityPriority] {
            #expect(counted.spendsBudget)
        }
        #expect(!ActivityPriority.caller(5).spendsBudget)
        #expect(!ActivityPriority.application(5).spendsBudget)
    }
}
