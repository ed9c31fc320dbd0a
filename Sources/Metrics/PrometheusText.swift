/// A page of metrics in Prometheus' text format, version 0.0.4.
///
/// A metric without a time series yet has its HELP and TYPE lines all the same, so that its name can be found.
public struct PrometheusText {
    /// The media type of the page.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The page so far, UTF-8.
    public private(set) var bytes: [UInt8] = []

    /// An empty page.
    public init() {}

    /// Adds a counter.
    public mutating func write<Labels>(_ counter: Counter<Labels>) {
        begin(counter.name, counter.help, "counter")
        for (labels, count) in sorted(counter.series) {
            line(counter.name, labels: labels, String(count))
        }
    }

    /// Adds a gauge.
    public mutating func write<Labels>(_ gauge: Gauge<Labels>) {
        write(gauge, type: "gauge")
    }

    /// Adds a total that is kept elsewhere, or is not a whole number: a counter by what it means.
    public mutating func write<Labels>(total: Gauge<Labels>) {
        write(total, type: "counter")
    }

    private mutating func write<Labels>(_ gauge: Gauge<Labels>, type: String) {
        begin(gauge.name, gauge.help, type)
        for (labels, value) in sorted(gauge.series) {
            line(gauge.name, labels: labels, PrometheusText.number(value))
        }
    }

    /// Adds a histogram.
    public mutating func write<Labels>(_ histogram: Histogram<Labels>) {
        begin(histogram.name, histogram.help, "histogram")
        for (labels, series) in sorted(histogram.series) {
            var total = 0
            for (bucket, count) in series.counts.enumerated() {
                total &+= count
                let bound = bucket < histogram.bounds.count ? histogram.bounds[bucket] : .infinity
                let bucketLabels = labels + [("le", PrometheusText.number(bound))]
                line(histogram.name, "_bucket", labels: bucketLabels, String(total))
            }
            line(histogram.name, "_sum", labels: labels, PrometheusText.number(series.sum))
            line(histogram.name, "_count", labels: labels, String(total))
        }
    }

    // MARK: - Lines

    private typealias LabelPairs = [(name: String, value: String)]

    /// In the order of the label values, so that two pages can be compared.
    private func sorted<Labels, Value>(_ series: SeriesTable<Labels, Value>) -> [(LabelPairs, Value)] {
        series.all.map { (labels: $0.values, value: $1) }
            .sorted { $0.labels.lexicographicallyPrecedes($1.labels) }
            .map { (zip(Labels.names, $0.labels).map { (name: $0, value: $1) }, $0.value) }
    }

    private mutating func begin(_ name: StaticString, _ help: StaticString, _ type: String) {
        append("# HELP \(name) ")
        append(PrometheusText.escaped(help.description, quotes: false))
        append("\n# TYPE \(name) \(type)\n")
    }

    private mutating func line(_ name: StaticString, _ suffix: String = "", labels: LabelPairs, _ value: String) {
        append("\(name)\(suffix)")
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(PrometheusText.escaped($0.value, quotes: true))\"" }
            append("{" + pairs.joined(separator: ",") + "}")
        }
        append(" \(value)\n")
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// A backslash and a line feed are escaped in help texts, a quotation mark in label values too.
    static func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || (quotes && $0 == 0x22) }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += #"\\"#
            case "\n": escaped += #"\n"#
            case "\"" where quotes: escaped += #"\""#
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A number as Go's parser reads it.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let integer = Int64(exactly: value) { return String(integer) }
        return value.description
    }
}
