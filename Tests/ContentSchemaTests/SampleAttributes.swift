import Foundation

// Types whose source the schema reader reads and whose values the real JSONDecoder decodes: what a schema says about them
// must be what happens. Each rule of decoding stands here at least once.
#if canImport(ActivityKit)
    import ActivityKit
#endif

/// Apple's own sample, with the attributes of a game.
struct AdventureAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        let currentHealthLevel: Double
        let eventDescription: String
    }

    struct Hero: Codable, Hashable {
        var name: String
        let level: Int
        var avatar: URL?
    }

    let hero: Hero
}

/// Each integer and floating-point type.
struct NumberAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var int: Int
        var int8: Int8
        var int16: Int16
        var int32: Int32
        var int64: Int64
        var uint: UInt
        var uint8: UInt8
        var uint16: UInt16
        var uint32: UInt32
        var uint64: UInt64
        var int128: Int128
        var uint128: UInt128
        var float: Float
        var double: Double
        var graphics: CGFloat
        var seconds: TimeInterval
    }

    var one: Int64
    var two: Double?
}

/// One number a time, so that a fault in one is not hidden by another.
struct OneIntegerAttributes: ActivityAttributes {
    typealias ContentState = [Int]
    let value: UInt64?
}

struct OneByteAttributes: ActivityAttributes {
    typealias ContentState = [Int8]
    let value: Int128?
}

struct OneDoubleAttributes: ActivityAttributes {
    typealias ContentState = [Double]
    let value: Float?
}

/// Foundation's value types.
struct FoundationAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var date: Date
        var maybeDate: Date?
        var data: Data
        var url: URL
        var uuid: UUID
        var decimal: Decimal
        var flag: Bool
        var text: String
    }

    var id = UUID()
    var link: URL?
    var started = Date()
    var price: Decimal?
    var picture: Data?
}

struct OneURLAttributes: ActivityAttributes {
    typealias ContentState = [URL]
    let uuid: UUID
}

struct OneDataAttributes: ActivityAttributes {
    typealias ContentState = [Data]
    let decimals: [Decimal]
}

/// Arrays, sets, dictionaries with every kind of key, ranges, optionals inside of all of them.
struct CollectionAttributes: ActivityAttributes {
    enum Side: String, Codable, Hashable {
        case home, away
    }

    enum Lane: Int, Codable, Hashable, CodingKeyRepresentable {
        case first = 1
        case second
    }

    enum Named: String, Codable, Hashable, CodingKeyRepresentable {
        case left = "l"
        case right = "é"
    }

    struct ContentState: Codable, Hashable {
        var numbers: [Int]
        var maybeNumbers: [Int?]
        var matrix: [[UInt8]]
        var tags: Set<String>
        var byName: [String: Int]
        var byNumber: [Int: String]
        var maybeByName: [String: Int?]
        var bySide: [Side: Int]
        var byUUID: [UUID: Bool]
        var byLane: [Lane: Int]
        var byNamed: [Named: Int]
        var nested: [String: [String: [Double]]]
        var closed: ClosedRange<Int>
        var open: Range<Double>
        var dates: ClosedRange<Date>?
        var names: ClosedRange<String>?
    }

    var generic: Array<Optional<Int>>
    var dictionary: Dictionary<String, Set<Int>>
    var contiguous: ContiguousArray<Int8>?
    var byByte: [Int8: Int]?
    var from: PartialRangeFrom<Int8>?
    var through: PartialRangeThrough<Float>?
    var upTo: [PartialRangeUpTo<Date>]
    var byMaybe: [Int?: Int]?
}

/// Enums.
struct EnumAttributes: ActivityAttributes {
    enum Phase: String, Codable, Hashable {
        case waiting
        case `default`
        case driving = "on the road"
        case done = "d\u{00E9}j\u{00E0}\n"
    }

    enum Level: Int, Codable, Hashable {
        case low
        case middle = 5
        case high
        case negative = -0x10
        case after
    }

    enum Tiny: UInt8, Codable, Hashable {
        case zero, one
        case large = 2_5_5
    }

    enum Ratio: Double, Codable, Hashable {
        case none
        case half = 0.5
        case one = 1
        case two
    }

    enum Weight: Float, Codable, Hashable {
        case light = 0.1
        case heavy = 16777216
    }

    enum Plain: Codable, Hashable {
        case a, b
    }

    indirect enum Leg: Codable, Hashable {
        case walk
        case train(String, to: Int?)
        case two(x: Int, y: String)
        case preset(level: Int = 4)
        case more([Leg])
        case wrapped(Leg)
        case optional(Int?)
    }

    enum Renamed: Codable, Hashable {
        case first(value: Int, hidden: Int = 3)
        case second
        case third(String)

        enum CodingKeys: String, CodingKey {
            case first = "FIRST"
            case third
        }

        enum FirstCodingKeys: String, CodingKey {
            case value = "v"
        }
    }

    struct ContentState: Codable, Hashable {
        var phase: Phase
        var level: Level
        var tiny: Tiny
        var ratio: Ratio
        var weight: Weight
        var plain: Plain
        var leg: Leg
        var renamed: Renamed?
        var phases: [Phase]
        var maybe: Plain?
    }

    var plain: Plain
    var leg: Leg
}

/// What is decoded of a struct, and what is not.
struct PropertyAttributes: ActivityAttributes {
    /// Public, as in a framework that the app and its extension share.
    public struct ContentState: Codable, Hashable {
        /// Must be there.
        public let required: Int
        let constant: Int = 5
        var preset: Int = 4
        var inferred = 1.5, named: String
        var list = [1, 2]
        var optional: Int?
        var presetOptional: Int? = 7
        var both: Int??
        var observed: Int = 0 {
            didSet { self.optional = oldValue }
        }
        var computed: Int { self.required * 2 }
        var other: Int {
            get { 1 }
            set { self.preset = newValue }
        }
        private(set) var guarded: Bool = false
        @available(iOS 16.1, *)
        var available: String?
        static let shared = 3
        static var counter: Int { 1 }
        var keys: Keys
        var empty: Empty
        var phase = Phase.start
        var moment = Date()
        var nested: Nested.Inner

        enum CodingKeys: CodingKey {
            case preset, required, inferred, named, list, optional, presetOptional, both, observed, guarded, available
            case keys, empty, phase, moment, nested
        }
    }

    enum Phase: String, Codable {
        case start, stop
    }

    struct Keys: Codable, Hashable {
        var aB: Int
        var left: Int = 1
        let `in`: String
        var é: Int?

        private enum CodingKeys: String, CodingKey {
            case `in`
            case aB = "a-b"
            case é = "caf\u{E9}"
        }
    }

    struct Empty: Codable, Hashable {
        static let nothing = 0
        var computed: Int { 1 }
    }

    enum Nested {
        struct Inner: Hashable {
            var value: Whole
        }
    }

    typealias Whole = Int16
    var empty: Empty?
}

extension PropertyAttributes.Nested.Inner: Codable {}

/// Shapes around a raw value, Apple's geometry, and what stands outside.
struct ShapeAttributes: ActivityAttributes {
    typealias ContentState = ShapeState
    var corner: CGPoint
    var size: CGSize?
}

struct ShapeState: Shape {
    struct Options: OptionSet, Codable, Hashable {
        let rawValue: UInt8
        static let bold = Options(rawValue: 1)
    }

    struct Identifier: RawRepresentable, Codable, Hashable {
        var rawValue: String
    }

    var options: Options
    var identifier: Identifier?
    var frame: [Double]
    var point: CGPoint?
    var duration: Duration?
    var parent: Box?
}

protocol Shape: Codable, Hashable, Sendable {}

struct Box: Shape {
    var children: [Box]
    var label: String?
}

extension CGRect {
    var isWide: Bool { self.width > self.height }
}

struct RectangleAttributes {
    #if os(iOS) || DEBUG || canImport(Foundation)
        let frame: CGRect
    #else
        let somethingElse: Int
    #endif
}

extension RectangleAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable {
        var maybe: [String: Optional<Swift.Int>]
        var date: Foundation.Date
    }
}

/// What apps have besides: a class that only holds values, the id of another type, an interval, a default that is computed.
struct PlaylistAttributes: ActivityAttributes {
    struct Track: Codable, Hashable, Identifiable {
        let id: UUID
        var title: String
    }

    struct Station: Codable, Hashable {
        var number: Int8
    }

    final class Cover: Codable, Hashable {
        let artist: String
        var year: Int?
        var copies = 1
        static func == (left: Cover, right: Cover) -> Bool { left.artist == right.artist }
        func hash(into hasher: inout Hasher) { hasher.combine(self.artist) }
    }

    struct ContentState: Codable, Hashable {
        var playing: Track.ID?
        var station: Station.ID
        var cover: Cover
        var session: DateInterval
        var pause: Foundation.DateInterval?
        var seconds = 60 * 5
        var share = (60 - 1) * 0.5
        var ratings = ["first": 1, "second": -2]
    }

    var intervals: [DateInterval]
    lazy var count = self.intervals.count
}

extension PlaylistAttributes.Station: Identifiable {
    var id: Int8 { self.number }
}
