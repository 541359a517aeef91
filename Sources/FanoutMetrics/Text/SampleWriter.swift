// SPDX-License-Identifier: Apache-2.0

/// Writes the text format: `begin` a metric, add its samples, `end` it.
struct SampleWriter {
    private(set) var bytes: [UInt8] = []
    private var name: [UInt8] = []
    /// The offsets of the metric's HELP line and of its first sample.
    private var block = 0..<0

    /// `name="value",name="value"`, escaped.
    static func labels(_ pairs: (name: String, value: String)...) -> [UInt8] {
        var bytes: [UInt8] = []
        for pair in pairs {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: pair.name.utf8)
            bytes.append(contentsOf: "=\"".utf8)
            LabelText.append(pair.value, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        return bytes
    }

    /// HELP and TYPE.
    mutating func begin(_ metric: Metric) {
        let start = bytes.count
        name = Array(metric.name.utf8)
        bytes.append(contentsOf: "# HELP \(metric.name) \(metric.help)\n".utf8)
        bytes.append(contentsOf: "# TYPE \(metric.name) \(metric.kind.rawValue)\n".utf8)
        block = start..<bytes.count
    }

    /// Removes HELP and TYPE if there was no sample.
    mutating func end() {
        if bytes.count == block.upperBound { bytes.removeLast(block.count) }
    }

    /// Seconds with their fraction; whole ones without.
    mutating func sample(_ value: Double) {
        bytes.append(contentsOf: name)
        let text = Int64(exactly: value).map { String($0) } ?? String(value)
        bytes.append(contentsOf: " \(text)\n".utf8)
    }

    /// A time with its fraction; `labels` must not be empty.
    mutating func sample(_ labels: [UInt8], seconds: Double) {
        bytes.append(contentsOf: name)
        bytes.append(UInt8(ascii: "{"))
        bytes.append(contentsOf: labels)
        bytes.append(contentsOf: "} \(seconds)\n".utf8)
    }

    /// One line. `more` are labels after `labels`, which must then not be empty.
    mutating func sample(_ labels: [UInt8], and more: [UInt8] = [], _ value: UInt64) {
        bytes.append(contentsOf: name)
        if !labels.isEmpty {
            bytes.append(UInt8(ascii: "{"))
            bytes.append(contentsOf: labels)
            if !more.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: more)
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: String(value).utf8)
        bytes.append(UInt8(ascii: "\n"))
    }
}
