import Gateway
import VerbatimJSON

extension Audience {
    /// The most tags of one list, and the longest in bytes.
    private static let maximumTags = 10
    private static let maximumTagBytes = 50

    /// `Condition`: tags are segments. Absent, it is everyone; one that names nothing is refused, since whoever made its
    /// list did not mean everyone.
    ///
    /// - Throws: 90020, 90022, 90032, 90039 or 90040 for tags, 90033 for attributes, which this gateway does not keep.
    init(condition: RequestFields?) throws(TencentError) {
        guard let condition else {
            self = .everyone
            return
        }
        let attributes = ["AttrsAnd", "AttrsOr"].first { condition[$0] != nil }
        let tags = ["TagsAnd", "TagsOr"].first { condition[$0] != nil }
        if let attributes {
            guard tags == nil else {
                throw condition.fault(attributes, "stands beside tags", code: .tagsAndAttributes)
            }
            throw condition.fault(
                attributes,
                "this gateway keeps no attributes of users; put them into segments and name those as tags",
                code: .attributes,
            )
        }
        var seen: Set<[UInt8]> = []
        let all = try Audience.tags("TagsAnd", of: condition, &seen)
        let any = try Audience.tags("TagsOr", of: condition, &seen)
        guard !all.isEmpty || !any.isEmpty else {
            throw condition.fault(
                tags ?? "TagsAnd",
                "names no tag; leave Condition out to push to all",
                code: .tagEmpty,
            )
        }
        self = .segments(all: all, any: any)
    }

    private static func tags(
        _ name: String,
        of condition: RequestFields,
        _ seen: inout Set<[UInt8]>,
    ) throws(TencentError) -> [String] {
        let elements = try condition.array(name) ?? []
        guard elements.count <= maximumTags else {
            throw condition.fault(
                name,
                "has \(elements.count) tags, at most \(maximumTags) are allowed",
                code: .tooManyTags,
            )
        }
        var tags: [String] = []
        for (index, element) in elements.enumerated() {
            let place = "\(name)[\(index)]"
            guard let tag = element.string else { throw condition.fault(place, "must be a string") }
            guard !tag.isEmpty else { throw condition.fault(place, "must not be empty", code: .tagEmpty) }
            guard tag.utf8.count <= maximumTagBytes else {
                throw condition.fault(place, "has more than \(maximumTagBytes) bytes", code: .tagTooLong)
            }
            guard seen.insert(Array(tag.utf8)).inserted else {
                throw condition.fault(place, "stands there twice", code: .tagTwice)
            }
            tags.append(tag)
        }
        return tags
    }
}
