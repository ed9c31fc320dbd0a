import APNs
import Logging
import TestSupport
import Testing

@testable import Gateway

@Suite("Accepting messages", .serialized, .timeLimit(.minutes(5)))
struct MessageRouterTests {
    @Test(
        "a message that comes as the lane closes is answered, before it, while it begins to wait, or later",
        arguments: 0...3
    )
    func arrivesAtTheClose(jobsBefore: Int) async throws {
        try await StoreDatabase.run { lane, database in
            let logger = Logger(minimumLevel: .error)
            let instance = GatewayInstance(configuration: .init(), host: "test", logger: logger)
            _ = await instance.beat(database.instances, database.store)
            #expect(instance.isAlive)
            var answers = 0
            for round in 1...20 where answers == round - 1 {
                let router = try Self.router(database, instance, logger, lane)
                Task {
                    _ = lane
                    do throws(GatewayUnavailable) {
                        _ = try await router.accept(PlannedOrder(order: Fixture.order(), digest: nil, sendAt: nil))
                    } catch {
                        answers += 1
                    }
                }
                for _ in 0..<jobsBefore {
                    await Task.yield()
                }
                router.close()
                for _ in 0..<10 where answers < round {
                    await Task.yield()
                }
            }
            #expect(answers == 20)
        }
    }

    /// A router that has not begun to store.
    private static func router(
        _ database: StoreDatabase,
        _ instance: GatewayInstance,
        _ logger: Logger,
        _ lane: isolated LoopActor,
    ) throws -> MessageRouter {
        let masterKey = try MasterKey(base64: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=")
        let directory = ApplicationDirectory(seal: SecretSeal(masterKey: masterKey), logger: logger)
        let client = try APNsClient(
            on: lane.loop,
            configuration: APNsConfiguration(),
            tokens: ProviderTokenCache(),
            logger: logger,
        )
        let counters = DeliveryCounters()
        let engine = DeliveryEngine(
            store: database.store,
            client: client,
            instance: instance,
            directory: directory,
            retrySchedule: .standard,
            pacing: .standard,
            startRules: .standard,
            recipientsInMemory: 100,
            counters: counters,
            logger: logger,
        )
        let fanOuts = FanOuts(
            store: FanOutStore(pool: database.pool),
            engine: engine,
            instance: instance,
            directory: directory,
            backlogLimit: 100,
            counters: counters,
            logger: logger,
        )
        return MessageRouter(
            store: database.store,
            callers: database.store,
            accounts: AccountStore(pool: database.pool),
            pushwoosh: PushwooshStore(pool: database.pool),
            engine: engine,
            fanOuts: fanOuts,
            instance: instance,
            directory: directory,
            backlogLimit: 100,
            answerLimit: .seconds(10),
            counters: counters,
            logger: logger,
        )
    }
}
