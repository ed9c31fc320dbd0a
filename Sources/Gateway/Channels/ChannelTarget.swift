import APNs

/// The place that channels belong to: they are shared neither between bundle ids nor between environments.
struct ChannelTarget {
    let sdkAppID: Int64
    let certificate: Certificate
    let environment: APNsEnvironment

    /// - Throws: for a businessId that the app has not, and an environment that the certificate is not for, or that has to be
    ///   named.
    init(of order: ChannelOrder, in certificates: [Int64: Certificate]) throws(RegistrationFault) {
        guard let certificate = certificates[order.businessID] else {
            throw RegistrationFault(
                .unknownBusinessID,
                "the app has no certificate with this businessId",
                field: "businessId",
            )
        }
        if let environment = order.environment, !certificate.covers(environment) {
            let message = "the certificate is for \(certificate.scope.rawValue)"
            throw RegistrationFault(.invalidValue, message, field: "environment")
        }
        guard let environment = order.environment ?? APNsEnvironment(rawValue: certificate.scope.rawValue) else {
            let message = "the certificate is for both environments, which share no channel: name sandbox or production"
            throw RegistrationFault(.missing, message, field: "environment")
        }
        self.sdkAppID = order.sdkAppID
        self.certificate = certificate
        self.environment = environment
    }

    /// - Throws: the same, that nothing is known yet of what is configured, and that the certificate cannot be opened here.
    init(of order: ChannelOrder, in directory: ApplicationDirectory) throws(ChannelFault) {
        guard let known = directory.known else { throw .unavailable(GatewayUnavailable(.databaseAway)) }
        guard known.unreadable?.certificates[order.sdkAppID]?[order.businessID] == nil else {
            throw .unavailable(GatewayUnavailable(.secretNotReadable))
        }
        do throws(RegistrationFault) {
            try self.init(of: order, in: known.certificates[order.sdkAppID] ?? [:])
        } catch {
            throw .order(error)
        }
    }
}
