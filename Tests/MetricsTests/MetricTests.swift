import Metrics
import Testing

/// Labels for the tests.
struct Kind: MetricLabels {
    static let names = ["kind", "reason"]
    var kind: String
    var reason = ""

    var values: [String] { [kind, reason] }
}

@Suite("Counter, gauge, histogram", .timeLimit(.minutes(5)))
struct MetricTests {
    @Test("A counter counts for each set of labels by itself")
    func countsByLabels() {
        var counter = Counter<Kind>("pushes_total", help: "Pushes.", startingWith: [Kind(kind: "c")])
        counter.add(Kind(kind: "a"))
        counter.add(Kind(kind: "a"), 2)
        counter.add(Kind(kind: "a", reason: "x"))
        #expect(counter[Kind(kind: "a")] == 3)
        #expect(counter[Kind(kind: "a", reason: "x")] == 1)
        #expect(counter[Kind(kind: "b")] == 0)
    }

    @Test("Two lanes are summed, and a copy stays as it was when it was taken")
    func lanesAreSummed() {
        var first = Counter<Kind>("pushes_total", help: "Pushes.")
        first.add(Kind(kind: "a"), 2)
        let copy = first
        var second = first
        second.add(Kind(kind: "b"), 3)
        first.add(contentsOf: second)
        #expect(first[Kind(kind: "a")] == 4)
        #expect(first[Kind(kind: "b")] == 3)
        #expect(copy[Kind(kind: "a")] == 2)

        var gauge = Gauge<Kind>("streams", help: "Streams.")
        gauge.set(1.5, Kind(kind: "a"))
        gauge.add(contentsOf: gauge)
        gauge.add(1, Kind(kind: "a"))
        #expect(gauge[Kind(kind: "a")] == 4)
        #expect(gauge[Kind(kind: "b")] == nil)

        var histogram = Histogram<NoLabels>("wait_seconds", help: "Waits.", bounds: [0.1, 1])
        histogram.observe(nanoseconds: 50_000_000)
        histogram.add(contentsOf: histogram)
        #expect(histogram.count(NoLabels()) == 2)
        #expect(histogram.sum(NoLabels()) == 0.1)
    }

    @Test(
        "A duration falls into the first bucket whose bound it does not exceed",
        arguments: [
            (Int64.min, 0, 0.0), (-1, 0, 0), (0, 0, 0), (100_000_000, 0, 0.1), (100_000_001, 1, 0.100000001),
            (1_000_000_000, 1, 1), (2_000_000_000, 2, 2), (Int64.max, 2, 9_223_372_036.854776),
        ]
    )
    func durationFallsIntoBucket(nanoseconds: Int64, bucket: Int, sum: Double) {
        var histogram = Histogram<NoLabels>("wait_seconds", help: "Waits.", bounds: [0.1, 1])
        histogram.observe(nanoseconds: nanoseconds)
        var page = PrometheusText()
        page.write(histogram)
        let counts = ["0.1", "1", "+Inf"].enumerated().map { index, bound in
            "wait_seconds_bucket{le=\"\(bound)\"} \(index >= bucket ? 1 : 0)\n"
        }
        #expect(String(decoding: page.bytes, as: UTF8.self).contains(counts.joined()))
        #expect(abs(histogram.sum(NoLabels()) - sum) < 1e-6)
    }

    @Test("A word that is not known becomes other, none becomes empty")
    func wordIsBounded() {
        #expect(bounded("BadDeviceToken", to: ["BadDeviceToken"]) == "BadDeviceToken")
        #expect(bounded("baddevicetoken", to: ["BadDeviceToken"]) == "other")
        #expect(bounded("", to: ["BadDeviceToken"]) == "other")
        #expect(bounded(nil, to: ["BadDeviceToken"]) == "")
    }
}
