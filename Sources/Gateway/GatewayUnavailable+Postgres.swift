import Logging
import PostgresClient

extension GatewayUnavailable {
    /// What a fault of PostgreSQL means for a caller. One that a repeat does not cure is logged, and an alarm.
    init(_ error: PostgresError, alarms: AlarmBoard? = nil, logger: Logger) {
        if error.isTransient {
            self.init(.databaseAway)
        } else {
            alarms?.raise(.databaseRefused(error, for: "a request of the chat backend"))
            logger.error("PostgreSQL refused a statement", ["error": .describing(error)])
            self.init(.databaseRefused)
        }
    }
}
