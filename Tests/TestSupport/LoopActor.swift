public import EventLoop

/// An actor on an event loop of its own thread, as a lane is: tests make what lives on a loop inside ``run(_:)``.
public actor LoopActor {
    /// The loop that runs this actor.
    public nonisolated let loop: EventLoop

    /// The loop, as the actor runtime asks for it.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Starts the thread. ``stop()`` ends it.
    public init() throws {
        self.loop = try EventLoop()
        loop.runInNewThread(name: "test loop")
    }

    /// Runs `body` on the loop's thread.
    public func run<Result: Sendable>(_ body: @Sendable (isolated LoopActor) async throws -> Result) async rethrows
        -> Result
    {
        try await body(self)
    }

    /// Ends the loop's thread after the event it is in.
    public nonisolated func stop() {
        loop.stop()
    }
}
