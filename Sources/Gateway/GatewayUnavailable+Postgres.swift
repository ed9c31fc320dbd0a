import Logging
import PostgresClient

extension GatewayUnavailable {
    /// What a fault of PostgreSQL means for a caller. One that a repeat does not cure is logged.
    init(_ error: PostgresError, logger: Logger) {
        if error.isTransient {
            self.init(.databaseAway)
        } else {
            logger.error("PostgreSQL refused a statement", ["error": .describing(error)])
            self.init(.databaseRefused)
        }
    }
}
