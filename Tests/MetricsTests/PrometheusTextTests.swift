import Metrics
import Testing

@Suite("Prometheus text format", .timeLimit(.minutes(5)))
struct PrometheusTextTests {
    private func page(_ write: (inout PrometheusText) -> Void) -> String {
        var page = PrometheusText()
        write(&page)
        return String(decoding: page.bytes, as: UTF8.self)
    }

    @Test("A counter has HELP, TYPE and a line for each set of labels, in order")
    func counter() {
        var counter = Counter<Kind>("pushes_total", help: "Pushes sent.")
        counter.add(Kind(kind: "b"), 2)
        counter.add(Kind(kind: "a", reason: "x"))
        #expect(
            page { $0.write(counter) } == """
                # HELP pushes_total Pushes sent.
                # TYPE pushes_total counter
                pushes_total{kind="a",reason="x"} 1
                pushes_total{kind="b",reason=""} 2

                """
        )
    }

    @Test("A counter without labels is there from the start; one with labels has its name there")
    func nothingCounted() {
        #expect(page { $0.write(Counter<NoLabels>("a_total", help: "A.")) }.hasSuffix("counter\na_total 0\n"))
        #expect(page { $0.write(Counter<Kind>("a_total", help: "A.")) }.hasSuffix("# TYPE a_total counter\n"))
        #expect(page { $0.write(Gauge<NoLabels>("a", help: "A.")) }.hasSuffix("# TYPE a gauge\n"))
    }

    @Test("A total that is kept elsewhere is a counter with a fraction")
    func total() {
        let seconds = Gauge<NoLabels>("cpu_seconds_total", help: "CPU.", value: 1.5)
        #expect(
            page { $0.write(total: seconds) }.hasSuffix("# TYPE cpu_seconds_total counter\ncpu_seconds_total 1.5\n")
        )
    }

    @Test("A histogram's buckets are cumulative and end with +Inf, its sum and its count")
    func histogram() {
        var histogram = Histogram<Kind>("wait_seconds", help: "Waits.", bounds: [0.005, 0.5])
        for nanoseconds: Int64 in [1_000_000, 250_000_000, 250_000_000, 3_000_000_000] {
            histogram.observe(nanoseconds: nanoseconds, Kind(kind: "a"))
        }
        #expect(
            page { $0.write(histogram) } == """
                # HELP wait_seconds Waits.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{kind="a",reason="",le="0.005"} 1
                wait_seconds_bucket{kind="a",reason="",le="0.5"} 3
                wait_seconds_bucket{kind="a",reason="",le="+Inf"} 4
                wait_seconds_sum{kind="a",reason=""} 3.501
                wait_seconds_count{kind="a",reason=""} 4

                """
        )
    }

    @Test("Label values and help texts are escaped")
    func escaping() {
        var gauge = Gauge<Kind>("a", help: "A \\ and\na \"line\".")
        gauge.set(1, Kind(kind: "x\\y\"z\n", reason: "ü"))
        #expect(
            page { $0.write(gauge) } == #"""
                # HELP a A \\ and\na "line".
                # TYPE a gauge
                a{kind="x\\y\"z\n",reason="ü"} 1

                """#
        )
    }

    @Test(
        "Numbers are written as Go reads them",
        arguments: [
            (0.0, "0"), (-3, "-3"), (0.25, "0.25"), (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
            (.nan, "NaN"), (1_790_000_000.5, "1790000000.5"),
        ]
    )
    func number(value: Double, text: String) {
        #expect(page { $0.write(Gauge<NoLabels>("a", help: "A.", value: value)) }.hasSuffix("\na \(text)\n"))
    }
}
