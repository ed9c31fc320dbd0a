import APNs
import EventLoop
import LiveActivity
import Testing

@testable import Gateway

@Suite("The guard against a configuration that makes every token fail", .timeLimit(.minutes(5)))
struct TokenFailureGuardTests {
    private static let start = MonotonicTime(nanoseconds: 5_000_000_000)

    /// A token that differs with the number.
    private static func token(_ number: Int) throws -> PushToken {
        try PushToken(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })
    }

    /// What happens to one guard; times are seconds.
    private struct Course {
        var guarding = TokenFailureGuard()

        /// Tokens fail, evenly over a time.
        mutating func fail(_ tokens: Range<Int>, from second: Int64 = 0, over seconds: Int64 = 0) throws {
            for (position, number) in tokens.enumerated() {
                let share = Int64(position) * seconds / Int64(max(tokens.count - 1, 1))
                _ = guarding.failed(try token(number), at: start + .seconds(second + share))
            }
        }

        mutating func succeed(_ tokens: Range<Int>, at second: Int64 = 0) throws {
            for number in tokens {
                _ = guarding.succeeded(try token(number), at: start + .seconds(second))
            }
        }
    }

    @Test("C43: how many, how soon and for how long can be told")
    func ownRules() throws {
        var rules = TokenFailureRules()
        (rules.failures, rules.window, rules.rest, rules.proof) = (3, .seconds(10), .seconds(60), .seconds(5))
        var course = Course(guarding: TokenFailureGuard(rules))
        try course.succeed(100..<101)
        #expect(course.guarding.isProven(at: Self.start + .seconds(4)))
        #expect(!course.guarding.isProven(at: Self.start + .seconds(5)))
        try course.fail(0..<3, from: 10, over: 20)
        #expect(!course.guarding.isUp)
        try course.fail(3..<6, from: 40, over: 10)
        #expect(course.guarding.isUp)
        try course.fail(6..<7, from: 110)
        #expect(!course.guarding.isUp)
    }

    @Test(
        "C43: so many different tokens in so short a time put it up",
        arguments: [
            (1, 0, false), (19, 0, false), (20, 0, true), (100, 0, true), (20, 600, true), (20, 660, false),
            (100, 3600, false), (100, 1800, true),
        ] as [(Int, Int64, Bool)]
    )
    func goesUp(tokens: Int, seconds: Int64, isUp: Bool) throws {
        var course = Course()
        try course.fail(0..<tokens, over: seconds)
        #expect(course.guarding.isUp == isUp)
    }

    @Test("failures that are known after all successes of the same burst do not put it up, later ones do")
    func failuresComeLast() throws {
        var course = Course()
        try course.succeed(1000..<1010)
        // Sent at 5 s with 80 others, which succeed; twenty fail once more elsewhere before they are known.
        try course.succeed(0..<80, at: 6)
        for number in 100..<120 {
            let sentAt = Self.start + .seconds(5)
            _ = course.guarding.failed(try Self.token(number), sentAt: sentAt, at: Self.start + .seconds(8))
        }
        #expect(!course.guarding.isUp)
        for number in 200..<220 {
            let sentAt = Self.start + .seconds(9)
            _ = course.guarding.failed(try Self.token(number), sentAt: sentAt, at: Self.start + .seconds(10))
        }
        #expect(course.guarding.isUp)
    }

    @Test("one token that fails over and over does not put it up")
    func sameToken() throws {
        var course = Course()
        for _ in 0..<100 { try course.fail(7..<8) }
        #expect(!course.guarding.isUp)
    }

    @Test(
        "C44: successes in between show that the tokens are at fault",
        arguments: [(0, true), (2, true), (3, false), (1000, false)]
    )
    func siblingsSucceed(successes: Int, isUp: Bool) throws {
        var course = Course()
        try course.fail(0..<10)
        try course.succeed(1000..<(1000 + successes))
        try course.fail(10..<20)
        #expect(course.guarding.isUp == isUp)
    }

    @Test("a million successes of a moment ago do not hide that nothing works now")
    func formerSuccesses() throws {
        var course = Course()
        try course.succeed(1000..<11_000)
        try course.fail(0..<20, from: 1)
        #expect(course.guarding.isUp)
    }

    @Test("it says once that it goes up, and once that it goes down")
    func changes() throws {
        var guarding = TokenFailureGuard()
        let ups = try (0..<40).filter { guarding.failed(try Self.token($0), at: Self.start) }
        #expect(ups == [19])
        let downs = try (20..<40).filter { guarding.succeeded(try Self.token($0), at: Self.start) }
        #expect(downs == [21])
        #expect(!guarding.isUp)
    }

    @Test("it stays up until successes return, however slowly the held pushes are tried")
    func staysUp() throws {
        var course = Course()
        try course.fail(0..<20)
        for minute in 1...20 as ClosedRange<Int64> {
            try course.fail(0..<3, from: minute * 900)
            #expect(course.guarding.isUp)
        }
        try course.succeed(100..<101, at: 18_001)
        #expect(course.guarding.isUp)
        try course.succeed(101..<104, at: 18_002)
        #expect(!course.guarding.isUp)
    }

    @Test("it goes down once nothing failed for an hour", arguments: [(3599, true), (3600, false)] as [(Int64, Bool)])
    func rests(seconds: Int64, isUp: Bool) throws {
        var course = Course()
        try course.fail(0..<20)
        try course.fail(50..<51, from: seconds)
        #expect(course.guarding.isUp == isUp)
    }

    @Test("an accepted push proves the configuration for an hour", arguments: [(0, true), (3599, true), (3600, false)])
    func proof(seconds: Int64, isProven: Bool) throws {
        var course = Course()
        #expect(!course.guarding.isProven(at: Self.start))
        try course.succeed(0..<1)
        #expect(course.guarding.isProven(at: Self.start + .seconds(seconds)) == isProven)
    }

    // MARK: - Places

    private static func place(_ environment: APNsEnvironment, _ bundleID: String = "com.example.app")
        -> TokenFailureBoard.Place
    {
        TokenFailureBoard.Place(sdkAppID: 1, bundleID: bundleID, environment: environment)
    }

    private static func judge(
        _ board: TokenFailureBoard,
        _ number: Int,
        in environments: [APNsEnvironment] = [.production],
        known: APNsEnvironment? = .production,
    ) throws -> TokenFailureBoard.Judgement {
        board.failed(try token(number), in: environments.map { place($0) }, known: known, at: start)
    }

    @Test("a token is blamed only where pushes to others were accepted")
    func blame() throws {
        let board = TokenFailureBoard()
        #expect(try Self.judge(board, 1).suspicion == .unproven)
        _ = board.succeeded(try Self.token(100), in: Self.place(.sandbox), at: Self.start)
        _ = board.succeeded(try Self.token(101), in: Self.place(.production, "com.example.other"), at: Self.start)
        #expect(try Self.judge(board, 1).suspicion == .unproven)
        #expect(try Self.judge(board, 1, in: [.production, .sandbox]).suspicion == .unproven)
        // Of unknown environment: it may belong where the others work.
        #expect(try Self.judge(board, 1, in: [.production, .sandbox], known: nil).suspicion == .tokenFault)
        _ = board.succeeded(try Self.token(102), in: Self.place(.production), at: Self.start)
        #expect(try Self.judge(board, 1).suspicion == .tokenFault)
    }

    @Test("C44: tokens of unknown environment are judged where the app is used, not where nobody is")
    func unusedEnvironment() throws {
        let board = TokenFailureBoard()
        for number in 0..<200 {
            _ = board.succeeded(try Self.token(1000 + number), in: Self.place(.production), at: Self.start)
            let judgement = try Self.judge(board, number, in: [.production, .sandbox], known: nil)
            #expect(judgement == TokenFailureBoard.Judgement(suspicion: .tokenFault))
        }
    }

    @Test("what a token's other environment answers counts for nobody")
    func otherEnvironment() throws {
        let board = TokenFailureBoard()
        for number in 0..<50 {
            _ = try Self.judge(board, number, in: [.production, .sandbox], known: .production)
        }
        #expect(try Self.judge(board, 100, in: [.sandbox], known: .sandbox).suspicion == .unproven)
    }

    @Test("C43: each place has its own guard, and a guarded one is a fault of the configuration")
    func places() throws {
        let board = TokenFailureBoard()
        for number in 0..<19 {
            #expect(try Self.judge(board, number).suspicion == .unproven)
        }
        let production = Self.place(.production)
        let first = TokenFailureBoard.Judgement(
            suspicion: .configurationFault,
            guarded: [production],
            newlyGuarded: [production],
        )
        #expect(try Self.judge(board, 19) == first)
        #expect(
            try Self.judge(board, 20)
                == TokenFailureBoard.Judgement(suspicion: .configurationFault, guarded: [production])
        )
        #expect(try Self.judge(board, 21, in: [.sandbox], known: .sandbox).suspicion == .unproven)
        #expect(try Self.judge(board, 22, in: [.production, .sandbox], known: nil).suspicion == .configurationFault)
        // What worked an hour ago is no proof while nothing works.
        _ = board.succeeded(try Self.token(100), in: production, at: Self.start)
        #expect(try Self.judge(board, 23).suspicion == .configurationFault)
        // It belongs to the sandbox, and was tried in production besides.
        #expect(try Self.judge(board, 24, in: [.sandbox, .production], known: .sandbox).suspicion == .unproven)
    }
}
