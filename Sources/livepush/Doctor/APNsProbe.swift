import APNs
import EventLoop
import Logging

/// One attempt to reach APNs, on a loop of its own.
actor APNsProbe {
    private nonisolated let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init() throws(EventLoopError) {
        self.loop = try EventLoop()
        loop.runInNewThread(name: "apns probe")
    }

    /// Resolves, connects, and waits for the first frame.
    ///
    /// - Returns: nil where APNs is reachable.
    static func check(
        _ environment: APNsEnvironment,
        _ service: APNsService,
        _ configuration: APNsConfiguration,
    ) async throws -> APNsFailure? {
        let probe = try APNsProbe()
        defer { probe.loop.stop() }
        return await probe.check(environment, service, configuration)
    }

    private func check(
        _ environment: APNsEnvironment,
        _ service: APNsService,
        _ configuration: APNsConfiguration,
    ) async -> APNsFailure? {
        do throws(APNsFailure) {
            let reachability = try APNsReachability(
                on: loop,
                configuration: configuration,
                environment: environment,
                service: service,
                logger: Logger(minimumLevel: .error),
            )
            let failure = await withCheckedContinuation { continuation in
                reachability.check { continuation.resume(returning: $0) }
            }
            reachability.close()
            return failure
        } catch {
            return error
        }
    }
}
