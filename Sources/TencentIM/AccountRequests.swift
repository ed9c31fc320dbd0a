import Gateway
import VerbatimJSON

/// `account_import`: one account.
struct AccountImport: Equatable {
    /// What to import.
    var profile: AccountProfile

    init(decoding bytes: [UInt8]) throws(TencentError) {
        profile = try AccountProfile(decoding: RequestFields(bodyOf: bytes, code: .accountParameter))
        guard Account.isValid(profile.account) else {
            throw TencentError(.accountParameter, path: "UserID", "must have \(Account.limits)")
        }
    }
}

/// `multiaccount_import`: up to 100 accounts, as names (`Accounts`) or with their profiles (`AccountList`).
struct AccountsImport: Equatable {
    /// Those that can be imported, each account once; of two with one name the last counts.
    var profiles: [AccountProfile] = []
    /// Those that cannot.
    var failures: [String] = []

    init(decoding bytes: [UInt8]) throws(TencentError) {
        let fields = try RequestFields(bodyOf: bytes, code: .accountParameter)
        var places: [[UInt8]: Int] = [:]
        for profile in try AccountsImport.profiles(in: fields) {
            if !Account.isValid(profile.account) {
                failures.append(profile.account)
            } else if let place = places[Array(profile.account.utf8)] {
                profiles[place] = profile
            } else {
                places[Array(profile.account.utf8)] = profiles.count
                profiles.append(profile)
            }
        }
    }

    private static func profiles(in fields: RequestFields) throws(TencentError) -> [AccountProfile] {
        var profiles: [AccountProfile] = []
        if fields["AccountList"] != nil {
            for item in try fields.accountItems("AccountList") {
                profiles.append(try AccountProfile(decoding: item))
            }
        } else {
            for (index, element) in try fields.accountElements("Accounts").enumerated() {
                guard let account = element.string else {
                    throw TencentError(.accountNotString, path: "Accounts[\(index)]", "must be a string")
                }
                profiles.append(AccountProfile(account: account, nickname: nil, faceURL: nil))
            }
        }
        return profiles
    }
}

/// `account_check` and `account_delete`: up to 100 accounts, each an object with UserID.
struct AccountList: Equatable {
    /// In the caller's order.
    var accounts: [String] = []

    /// - Parameter name: the field that holds them.
    init(decoding bytes: [UInt8], field name: String) throws(TencentError) {
        for item in try RequestFields(bodyOf: bytes, code: .accountParameter).accountItems(name) {
            let account = try item.account()
            guard Account.isValid(account) else {
                throw item.fault("UserID", "must have \(Account.limits)")
            }
            accounts.append(account)
        }
    }
}

extension AccountProfile {
    fileprivate init(decoding fields: RequestFields) throws(TencentError) {
        self.init(
            account: try fields.account(),
            nickname: try fields.optionalText("Nick"),
            faceURL: try fields.optionalText("FaceUrl"),
        )
    }
}

extension RequestFields {
    /// The most accounts of one request.
    private static var maximumAccounts: Int { 100 }

    /// UserID; older clients call it Identifier.
    fileprivate func account() throws(TencentError) -> String {
        let name = self["UserID"] == nil && self["Identifier"] != nil ? "Identifier" : "UserID"
        guard let value = self[name] else { throw fault(name, "missing") }
        guard let account = value.string else { throw fault(name, "must be a string", code: .accountNotString) }
        return account
    }

    /// A string; nil if the field is absent or null, as clients write a nickname that was not given.
    fileprivate func optionalText(_ name: String) throws(TencentError) -> String? {
        guard let value = self[name], value.kind != .null else { return nil }
        guard let text = value.string else { throw fault(name, "must be a string") }
        return text
    }

    fileprivate func accountElements(_ name: String) throws(TencentError) -> [JSONValue] {
        guard let value = self[name], value.kind == .array else {
            throw fault(name, "must be an array")
        }
        let elements = value.elements
        guard (1...RequestFields.maximumAccounts).contains(elements.count) else {
            throw fault(
                name,
                "has \(elements.count) accounts, 1 to \(RequestFields.maximumAccounts) are allowed",
            )
        }
        return elements
    }

    fileprivate func accountItems(_ name: String) throws(TencentError) -> [RequestFields] {
        var items: [RequestFields] = []
        for element in try accountElements(name) {
            items.append(try RequestFields(element, code: .accountParameter))
        }
        return items
    }
}
