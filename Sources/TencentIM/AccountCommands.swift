import Gateway
import HTTPServer
import VerbatimJSON

/// The commands of `im_open_login_svc`: accounts, their nicknames, and their end.
struct AccountCommands {
    let gateway: any MessageGateway
    let sdkAppID: Int64

    /// `account_import`.
    func importOne(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        try await importProfiles([try AccountImport(decoding: body).profile])
        return Answer.make(.ok) { _ in }
    }

    /// `multiaccount_import`: the accounts that cannot be imported are named, the others are imported.
    func importMany(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        let request = try AccountsImport(decoding: body)
        guard !request.profiles.isEmpty else {
            return fail(request.failures, TencentError(.accountParameter, "an account must have \(Account.limits)"))
        }
        try await importProfiles(request.profiles)
        return Answer.make(.ok) { writer in
            AccountCommands.write(request.failures, to: &writer)
        }
    }

    /// `account_check`.
    func check(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        let accounts = try AccountList(decoding: body, field: "CheckItem").accounts
        let imported = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.importedAccounts(among: accounts, in: sdkAppID)
        }
        return answer(for: accounts) { account, writer in
            AccountCommands.write(nil, to: &writer)
            writer.member("AccountStatus", imported.contains(account) ? "Imported" : "NotImported")
        }
    }

    /// `account_delete`. An account that was never imported may still have registrations; they go as well.
    func delete(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        let accounts = try AccountList(decoding: body, field: "DeleteItem").accounts
        let deleted = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.deleteAccounts(accounts, in: sdkAppID)
        }
        return answer(for: accounts) { account, writer in
            AccountCommands.write(deleted.contains(account) ? nil : .notImported, to: &writer)
        }
    }

    // MARK: -

    private func importProfiles(_ profiles: [AccountProfile]) async throws(TencentError) {
        try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await gateway.importAccounts(profiles, in: sdkAppID)
        }
    }

    private func fail(_ accounts: [String], _ error: TencentError) -> HTTPResponse {
        Answer.make(.fail, error) { writer in
            AccountCommands.write(accounts, to: &writer)
        }
    }

    private static func write(_ failedAccounts: [String], to writer: inout JSONWriter) {
        writer.key("FailAccounts")
        writer.beginArray()
        for account in failedAccounts {
            writer.string(account)
        }
        writer.endArray()
    }

    private func answer(for accounts: [String], _ write: (String, inout JSONWriter) -> Void) -> HTTPResponse {
        Answer.make(.ok) { writer in
            writer.key("ResultItem")
            writer.beginArray()
            for account in accounts {
                writer.beginObject()
                writer.member("UserID", account)
                write(account, &writer)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    private static func write(_ fault: TencentError?, to writer: inout JSONWriter) {
        writer.member("ResultCode", fault?.code.rawValue ?? 0)
        writer.member("ResultInfo", fault?.info ?? "")
    }
}

extension TencentError {
    /// An account that was never imported, in Tencent's own words.
    static let notImported = TencentError(
        .accountNotImported,
        "Err_TLS_PT_Open_Login_Account_Not_Exist",
    )
}
