/// What a push that starts a Live Activity says of it besides its state (Apple: "Starting and updating Live Activities with
/// ActivityKit push notifications").
public struct ActivityStart: Sendable, Equatable, CustomStringConvertible {
    /// Name of the app's `ActivityAttributes` type, without its module.
    public var attributesType: String
    /// The text of a JSON object from which the app decodes that type. It goes into the push byte for byte.
    public var attributes: [UInt8]
    /// Whether the app shall get an update token for the new activity (`input-push-token`; iOS 18).
    public var wantsPushToken: Bool
    /// The broadcast channel, in base64 as APNs names it, that the new activity shall follow (`input-push-channel`; iOS 18).
    /// Never together with ``wantsPushToken``.
    public var pushChannel: String?

    /// Makes the particulars of a start.
    ///
    /// - Parameter attributes: the text of a JSON object, already checked.
    public init(attributesType: String, attributes: [UInt8], wantsPushToken: Bool = false, pushChannel: String? = nil) {
        self.attributesType = attributesType
        self.attributes = attributes
        self.wantsPushToken = wantsPushToken
        self.pushChannel = pushChannel
    }

    /// The same as far as a system understands it: before iOS 18 a start with `input-push-channel` never comes up, and
    /// `input-push-token` is unknown (Apple, as above).
    ///
    /// - Parameter system: nil if unknown; both keys are left out then as well.
    public func adapted(to system: IOSVersion?) -> ActivityStart {
        if let system, system >= .startInputs { return self }
        var plain = self
        plain.wantsPushToken = false
        plain.pushChannel = nil
        return plain
    }

    /// The type and the size of its attributes; never the attributes.
    public var description: String {
        "\(self.attributesType) with \(self.attributes.count) bytes of attributes"
    }
}
