import APNs
import Gateway
import PostgresClient

/// `livepush doctor`.
enum DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "check database, keys, clock and the way to APNs, and say what is wrong"
    static let discussion = """
        Takes the options of `serve` and the same environment; run it where gateways run, as the same database user.
        Changes nothing and sends nothing. One line for each check: ok, warn (works, but look at it), or FAIL with what to
        do. That a host for broadcast channels is out of reach is FAIL only where channels are used. Exits 0 if nothing is
        FAIL, else 1.
        """
    static let options = ServeCommand.options.filter {
        [
            "database-url", "apns-production", "apns-sandbox", "apns-broadcast-production", "apns-broadcast-sandbox",
            "apns-manage-broadcast-production", "apns-manage-broadcast-sandbox", "apns-ca-file", "apns-connect-timeout",
        ].contains($0.name)
    }

    static func run(_ arguments: CommandArguments) async throws {
        let apns = try ServeConfiguration.apns(arguments)
        let url = try arguments.required("database-url")
        var report = DoctorReport()
        var seal: SecretSeal?
        do {
            seal = try arguments.secretSeal()
        } catch {
            report.fail("master key", "\(error)")
        }
        var environments: Set<APNsEnvironment> = []
        var channels: Set<APNsEnvironment> = []
        do {
            (report, environments, channels) = try await DatabaseSession.run(url, needsSchema: false) {
                [report, seal] _, connection in
                var doctor = DatabaseDoctor(seal: seal, report: report)
                do {
                    try await doctor.run(connection)
                } catch let error as PostgresError {
                    doctor.report.fail("database", "a check could not be made: \(error)")
                }
                return (doctor.report, doctor.environments, doctor.channelEnvironments)
            }
        } catch {
            report.fail("database", "\(error); see --database-url, and whether the server runs and lets this user in")
        }
        for environment in APNsEnvironment.allCases where environments.isEmpty || environments.contains(environment) {
            try await checkAPNs(environment, apns, usesChannels: channels.contains(environment), &report)
        }
        guard report.failures == 0 else {
            throw CommandFailure("\(report.failures) failed, \(report.warnings) to look at")
        }
    }

    /// Tries the three hosts of an environment at the same time.
    private static func checkAPNs(
        _ environment: APNsEnvironment,
        _ apns: APNsConfiguration,
        usesChannels: Bool,
        _ report: inout DoctorReport,
    ) async throws {
        async let device = APNsProbe.check(environment, .device, apns)
        async let broadcast = APNsProbe.check(environment, .broadcast, apns)
        async let management = APNsProbe.check(environment, .channelManagement, apns)
        for (service, failure) in [
            ("", try await device), (", pushes to channels", try await broadcast),
            (", management of channels", try await management),
        ] {
            let subject = "APNs \(environment.rawValue)\(service)"
            guard let failure else {
                report.ok(subject, "reachable with TLS and HTTP/2")
                continue
            }
            let advice = "look at DNS, at the firewall (outgoing TCP) and at --apns-ca-file"
            if service.isEmpty || usesChannels {
                report.fail(subject, "\(failure.detail); \(advice)")
            } else {
                report.warn(subject, "\(failure.detail); \(advice); needed once there are broadcast channels")
            }
        }
    }
}
