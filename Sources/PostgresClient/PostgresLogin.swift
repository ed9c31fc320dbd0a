import CLibpq
import EventLoop
import Glibc

/// How to log in: the URL, and the settings that make a connection notice a dead peer.
struct PostgresLogin: Sendable {
    let url: String
    let connectTimeout: Duration
    let statementTimeout: Duration
    let applicationName: String

    /// Connects on a thread of its own, since libpq resolves names, and may wait, on the calling one.
    ///
    /// - Returns: the address of a `PGconn` that is logged in and in pipeline mode; the caller owns it.
    func open() async -> Result<UInt, PostgresError> {
        await runBlockingWork {
            connect().flatMap { handle in
                guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
                    PQfinish(handle)
                    return .failure(PostgresError(.notConnected))
                }
                return .success(UInt(bitPattern: handle))
            }
        }
    }

    /// Runs a script of many statements in one transaction, on a connection of its own.
    func run(script: String) async -> Result<Void, PostgresError> {
        guard !script.utf8.contains(0) else { return .failure(PostgresError(.invalidText)) }
        return await runBlockingWork {
            connect().flatMap { handle in
                defer { PQfinish(handle) }
                guard let result = PQexec(handle, script) else {
                    return .failure(PostgresError(.connectionLost))
                }
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return .success(())
                default: return .failure(ServerError(result).error)
                }
            }
        }
    }

    /// Blocks.
    private func connect() -> Result<OpaquePointer, PostgresError> {
        guard let settings = settings() else {
            // libpq's own message would quote the URL, and with it the password.
            return .failure(PostgresError(.notConnected, reason: "the database URL is malformed"))
        }
        let names = settings.map { strdup($0.name) }
        let values = settings.map { strdup($0.value) }
        defer {
            names.forEach { free($0) }
            values.forEach { free($0) }
        }
        let handle = PQconnectdbParams(
            names.map { UnsafePointer($0) } + [nil],
            values.map { UnsafePointer($0) } + [nil],
            0,
        )
        guard let handle else { return .failure(PostgresError(.notConnected)) }
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        guard PQstatus(handle) == CONNECTION_OK else {
            // Names the host, the user and the database, and why; never the password.
            let reason = PQerrorMessage(handle).map {
                String(cString: $0).split(separator: "\n").joined(separator: "; ")
            }
            PQfinish(handle)
            return .failure(PostgresError(.notConnected, reason: reason))
        }
        return .success(handle)
    }

    /// Nil when libpq cannot read the URL.
    private func settings() -> [(name: String, value: String)]? {
        guard !url.utf8.contains(0), let options = PQconninfoParse(url, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var settings = [
            (name: "application_name", value: applicationName),
            (name: "connect_timeout", value: String(max(2, milliseconds(connectTimeout) / 1000))),
            // Without these a peer that vanished (a failover, a cut cable) is noticed after minutes or hours.
            (name: "tcp_user_timeout", value: "10000"),
            (name: "keepalives_idle", value: "10"),
            (name: "keepalives_interval", value: "5"),
            (name: "keepalives_count", value: "3"),
        ]
        var serverOptions = [
            "-c statement_timeout=\(milliseconds(statementTimeout))",
            "-c idle_in_transaction_session_timeout=\(milliseconds(statementTimeout))",
            "-c client_min_messages=error",
        ]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                let setting = (name: String(cString: keyword), value: String(cString: value))
                if setting.name == "options" {
                    // The server takes the last of two values: the URL's.
                    serverOptions.append(setting.value)
                } else {
                    settings.removeAll { $0.name == setting.name }
                    settings.append(setting)
                }
            }
            option += 1
        }
        settings.removeAll { $0.name == "client_encoding" }
        settings.append((name: "client_encoding", value: "UTF8"))
        settings.append((name: "options", value: serverOptions.joined(separator: " ")))
        return settings
    }

    private func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow, product < Int64(Int32.max) else { return Int64(Int32.max) }
        return max(0, product + attoseconds / 1_000_000_000_000_000)
    }
}
