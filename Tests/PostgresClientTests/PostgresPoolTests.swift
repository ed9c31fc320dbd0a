import EventLoop
import PostgresClient
import TestSupport
import Testing

@testable import struct PostgresClient.ReconnectBackOff

@Suite("PostgresPool", .timeLimit(.minutes(5)))
struct PostgresPoolTests {
    @Test("units are spread over the connections")
    func unitsAreSpread() async throws {
        let database = try await Database()
        defer { database.lane.stop() }
        let processes = try await database.lane.run { [url = database.url] lane in
            let pool = PostgresPool(url: url, connections: 3, on: lane.loop, logger: Database.silent)
            pool.start()
            defer { pool.close() }
            while pool.openConnections < 3 {
                await Task.yield()
            }
            let tasks = (0..<9).map { _ in
                Task {
                    _ = lane
                    let select = PostgresStatement("SELECT pg_backend_pid() FROM pg_sleep(0.05)")
                    return try await pool.run(select).rows[0].integer(0)
                }
            }
            var processes: Set<Int64> = []
            for task in tasks {
                processes.insert(try await task.value)
            }
            return processes
        }
        #expect(processes.count == 3)
    }

    @Test("a pool whose server stops and starts again recovers")
    func serverRestart() async throws {
        let server = try PrivatePostgres()
        defer { server.close() }
        let lane = try LoopActor()
        defer { lane.stop() }
        try await lane.run { lane in
            let pool = PostgresPool(
                url: server.url,
                connections: 2,
                on: lane.loop,
                logger: Database.silent,
                connectionWait: .milliseconds(100),
            )
            pool.start()
            defer { pool.close() }
            while !pool.isConnected {
                await Task.yield()
            }
            _ = try await pool.run(PostgresStatement("CREATE TABLE item (id bigint)"))
            try server.stop()
            var kinds: Set<PostgresError.Kind> = []
            while !kinds.contains(.notConnected) {
                do throws(PostgresError) {
                    _ = try await pool.run(PostgresStatement("INSERT INTO item VALUES (1)"))
                } catch {
                    kinds.insert(error.kind)
                }
            }
            #expect(kinds.isSubset(of: [.connectionLost, .notConnected]))
            #expect(!pool.isConnected)
            try server.restart()
            var isBack = false
            while !isBack {
                isBack = (try? await pool.run(PostgresStatement("SELECT 1"))) != nil
            }
            #expect(pool.isConnected)
        }
    }

    @Test("a pool that cannot connect refuses units after a bounded wait, and says nothing was sent")
    func noServer() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        let kinds = await lane.run { lane in
            let pool = PostgresPool(
                url: "postgres://127.0.0.1:1/none",
                connections: 1,
                on: lane.loop,
                logger: Database.silent,
                connectionWait: .milliseconds(20),
            )
            var kinds: [PostgresError.Kind?] = []
            for isStarted in [false, true] {
                if isStarted { pool.start() }
                do throws(PostgresError) {
                    _ = try await pool.run(PostgresStatement("SELECT 1"))
                } catch {
                    kinds.append(error.kind)
                }
            }
            pool.close()
            return kinds
        }
        #expect(kinds == [.notConnected, .notConnected])
    }

    @Test("close resumes who waits for a connection")
    func closeWhileWaiting() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        let kind = await lane.run { lane in
            let pool = PostgresPool(
                url: "postgres://127.0.0.1:1/none",
                connections: 1,
                on: lane.loop,
                logger: Database.silent,
                connectionWait: .seconds(50),
            )
            pool.start()
            let task = Task { () -> PostgresError.Kind? in
                _ = lane
                do throws(PostgresError) {
                    _ = try await pool.run(PostgresStatement("SELECT 1"))
                    return nil
                } catch {
                    return error.kind
                }
            }
            await Task.yield()
            pool.close()
            return await task.value
        }
        #expect(kind == .notConnected)
    }

    @Test("the back-off doubles from 250 ms to 5 s, is shortened at random, and starts again after a login")
    func backOff() {
        var backOff = ReconnectBackOff()
        let waits = (0..<7).map { _ in backOff.wait(fraction: 0) }
        #expect(waits == [250, 500, 1000, 2000, 4000, 5000, 5000].map { .milliseconds($0) })
        #expect(backOff.wait(fraction: 0.5) == .milliseconds(3750))
        backOff.reset()
        #expect(backOff.wait(fraction: 0) == .milliseconds(250))
    }
}
