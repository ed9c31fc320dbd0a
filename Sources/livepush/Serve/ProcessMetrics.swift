import Glibc
import Metrics

/// What the kernel and the build say of this process, under the names that all Prometheus clients use.
struct ProcessMetrics: Sendable {
    private struct BuildLabels: MetricLabels {
        static let names = ["schema", "configuration"]
        let values: [String]
    }

    /// When the process started, Unix seconds.
    let startedAt: Double

    /// To be made at the start of the process.
    init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        startedAt = Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    func write(to page: inout PrometheusText) {
        page.write(
            Gauge("process_start_time_seconds", help: "When the process started, Unix seconds.", value: startedAt)
        )
        page.write(total: processorSeconds)
        if let bytes = ProcessMetrics.residentBytes {
            page.write(Gauge("process_resident_memory_bytes", help: "Memory of the process in RAM.", value: bytes))
        }
        if let count = ProcessMetrics.openDescriptors {
            page.write(Gauge("process_open_fds", help: "Open file descriptors.", value: count))
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            page.write(
                Gauge("process_max_fds", help: "How many file descriptors may be open.", value: Double(limit.rlim_cur))
            )
        }
        page.write(build)
    }

    private var processorSeconds: Gauge<NoLabels> {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Gauge(
            "process_cpu_seconds_total",
            help: "CPU time of the process.",
            value: Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9,
        )
    }

    private var build: Gauge<BuildLabels> {
        #if DEBUG
            let configuration = "debug"
        #else
            let configuration = "release"
        #endif
        var build = Gauge<BuildLabels>(
            "livepush_build_info",
            help: "1; the newest schema version that this build knows, and how it was compiled.",
        )
        let schema = SchemaMigration.newest
        build.set(1, BuildLabels(values: [String(schema), configuration]))
        return build
    }

    /// The second number of `/proc/self/statm`, which counts pages.
    private static var residentBytes: Double? {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        let numbers = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard numbers.count > 1, let pages = Double(numbers[1]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static var openDescriptors: Double? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil {
            count += 1
        }
        // Not `.`, `..`, and the descriptor that reads the folder.
        return Double(max(0, count - 3))
    }
}
