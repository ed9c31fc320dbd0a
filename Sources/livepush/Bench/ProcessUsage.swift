import Glibc

/// What the kernel counts for a process, from /proc.
struct ProcessUsage: Sendable {
    /// User and system time, in seconds.
    var cpuSeconds: Double
    /// Calls of write(2) and writev(2). OpenSSL writes its sockets with them; the HTTP server and libpq use send(2),
    /// which the kernel does not count here.
    var writeCalls: Int64

    /// - Parameter isTree: with all its descendants, those included that have ended: PostgreSQL's postmaster reaps its
    ///   backends and workers.
    init(of process: pid_t, isTree: Bool = false) {
        let processes = isTree ? ProcessUsage.tree(of: process) : [process]
        let ticks = processes.reduce(0) { $0 + ProcessUsage.ticks(of: $1, withReaped: isTree) }
        cpuSeconds = Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
        writeCalls = ProcessUsage.number("syscw:", in: "/proc/\(process)/io") ?? 0
    }

    /// Peak resident memory in bytes.
    static func peakMemory(of process: pid_t) -> Int64? {
        number("VmHWM:", in: "/proc/\(process)/status").map { $0 * 1024 }
    }

    private static func tree(of root: pid_t) -> [pid_t] {
        var children: [pid_t: [pid_t]] = [:]
        for process in Folder.names(in: "/proc").compactMap({ pid_t($0) }) {
            guard let fields = fields(of: process), fields.count > 1, let parent = pid_t(fields[1]) else { continue }
            children[parent, default: []].append(process)
        }
        var (found, next) = ([root], 0)
        while next < found.count {
            found += children[found[next]] ?? []
            next += 1
        }
        return found
    }

    /// The fields of /proc/PID/stat after the name, which may hold anything: state, parent, ...
    private static func fields(of process: pid_t) -> [Substring]? {
        let text = contents("/proc/\(process)/stat")
        guard let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split(separator: " ")
    }

    private static func ticks(of process: pid_t, withReaped: Bool) -> Int64 {
        guard let fields = fields(of: process), fields.count > 14 else { return 0 }
        return fields[11...(withReaped ? 14 : 12)].reduce(0) { $0 + (Int64($1) ?? 0) }
    }

    private static func number(_ name: String, in file: String) -> Int64? {
        for line in contents(file).split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).split(whereSeparator: { $0 == " " || $0 == "\t" }).first.flatMap {
                Int64($0)
            }
        }
        return nil
    }

    private static func contents(_ path: String) -> String {
        let bytes = (try? InputFile.read(path, option: "")) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }
}
