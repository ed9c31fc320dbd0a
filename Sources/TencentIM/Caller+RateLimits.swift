import Gateway

extension Caller {
    /// Counts this call against the limits of its app; 60007 over them.
    func countRequest() throws(TencentError) {
        guard let limiter = application.rateLimiter else { return }
        do {
            try limiter.countRequest(of: identifier)
        } catch {
            throw TencentError(.tooManyRequests, error)
        }
    }

    /// Counts the recipients of a message to several against the limit of its app.
    ///
    /// - Parameter code: what the command answers over it: 90057, which `timpush/batch` has for something else.
    func countRecipients(_ number: Int, code: TencentError.Code) throws(TencentError) {
        guard let limiter = application.rateLimiter else { return }
        do {
            try limiter.countRecipients(number)
        } catch {
            throw TencentError(code, error)
        }
    }

    /// The answer to a UserSig that is not accepted: its own code, or 70050 where one identifier fails too often.
    static func refusal(of identifier: String, _ application: Application, _ fault: UserSigError) -> TencentError {
        do throws(RateLimitExceeded) {
            try application.rateLimiter?.countUserSigFailure(of: identifier)
            return TencentError(fault)
        } catch {
            var refusal = TencentError(.userSigFailsTooOften, error)
            refusal.info = "usersig: \(fault.message); \(refusal.info)"
            return refusal
        }
    }
}

extension TencentError {
    fileprivate init(_ code: Code, _ exceeded: RateLimitExceeded) {
        self.init(code, exceeded.message, retryAfter: exceeded.retryAfter)
    }
}
