import Gateway
import VerbatimJSON

/// MsgBody, as far as a push needs it: what its elements say in a notification.
struct MessageBody: Equatable {
    /// The fields of a TIMCustomElem that concern pushes.
    struct CustomElement: Equatable {
        var text: String?
        var ext: String?
        var sound: String?
    }

    /// One element.
    enum Element: Equatable {
        case text(String)
        case custom(CustomElement)
        case location
        case face
        case sound
        case image
        case file
        case video
        /// Forwarded messages; they say nothing in a notification.
        case relay
    }

    /// In the caller's order.
    var elements: [Element]

    /// - Parameter value: the field MsgBody, nil if it is missing.
    init(decoding value: JSONValue?) throws(TencentError) {
        guard let value, value.kind == .array else {
            throw TencentError(.messageBodyNotArray, path: "MsgBody", "must be an array")
        }
        elements = []
        for element in value.elements {
            elements.append(try Element(decoding: RequestFields(element, code: .messageElement)))
        }
        guard !elements.isEmpty else {
            throw TencentError(.messageBody, path: "MsgBody", "must not be empty")
        }
        guard elements.count(where: \.isCustom) <= 1 else {
            throw TencentError(.messageBody, path: "MsgBody", "must not hold more than one TIMCustomElem")
        }
    }

    /// The message's custom element, if there is one.
    var customElement: CustomElement? {
        for case .custom(let element) in elements {
            return element
        }
        return nil
    }

    /// The text for a notification whose sender named none: what the elements say, without anything between them.
    /// Tencent's message format names the placeholders; the ones for a video are our choice.
    func text(in language: Application.PlaceholderLanguage) -> String {
        elements.reduce(into: "") { $0 += $1.text(in: language) }
    }
}

extension MessageBody.Element {
    fileprivate init(decoding fields: RequestFields) throws(TencentError) {
        guard let type = try fields.string("MsgType") else { throw fields.fault("MsgType", "missing") }
        guard let content = try fields.object("MsgContent") else { throw fields.fault("MsgContent", "missing") }
        switch type {
        case "TIMTextElem":
            guard let text = try content.string("Text") else { throw content.fault("Text", "missing") }
            self = .text(text)
        case "TIMCustomElem":
            _ = try content.string("Data")
            self = .custom(
                MessageBody.CustomElement(
                    text: try content.string("Desc"),
                    ext: try content.string("Ext"),
                    sound: try content.string("Sound"),
                )
            )
        case "TIMLocationElem":
            _ = try content.string("Desc")
            self = .location
        case "TIMFaceElem":
            _ = try content.string("Data")
            self = .face
        case "TIMImageElem":
            _ = try content.array("ImageInfoArray")
            self = .image
        case "TIMSoundElem": self = .sound
        case "TIMFileElem": self = .file
        case "TIMVideoFileElem": self = .video
        case "TIMRelayElem": self = .relay
        default: throw fields.fault("MsgType", "there is no such type of element")
        }
    }

    fileprivate var isCustom: Bool {
        if case .custom = self { true } else { false }
    }

    fileprivate func text(in language: Application.PlaceholderLanguage) -> String {
        let isChinese = language == .chinese
        return switch self {
        case .text(let text): text
        case .custom(let element): element.text ?? ""
        case .location: isChinese ? "[位置]" : "[Location]"
        case .face: isChinese ? "[表情]" : "[Face]"
        case .sound: isChinese ? "[语音]" : "[audio]"
        case .file: isChinese ? "[文件]" : "[file]"
        case .image: isChinese ? "[图片]" : "[image]"
        case .video: isChinese ? "[视频]" : "[video]"
        case .relay: ""
        }
    }
}
