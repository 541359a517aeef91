// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet

/// A scraped page of metrics, read as Prometheus reads it (text format 0.0.4).
struct MetricsPage: Sendable {
    struct Sample: Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    let text: String
    let samples: [Sample]

    static func scrape(_ port: UInt16, path: String = "/metrics") async throws -> MetricsPage {
        let reply = try await HTTP.get(path, port: port)
        guard reply.status == 200 else { throw Failed("status \(reply.status)", EPROTO) }
        return try MetricsPage(reply.body)
    }

    init(_ text: String) throws {
        self.text = text
        samples = try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(Self.sample)
    }

    /// The sum of the samples called `name` whose labels contain `labels`; nil when there is none.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        let found = samples.filter { sample in
            sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
        }
        return found.isEmpty ? nil : found.map(\.value).reduce(0, +)
    }

    /// The same of a counter, 0 when there is none.
    func count(_ name: String, _ labels: [String: String] = [:]) -> Int {
        Int(value("udp_fanout_\(name)", labels) ?? 0)
    }

    private static func sample(_ line: Substring) throws -> Sample {
        var rest = line
        let name = rest.prefix { $0 != "{" && $0 != " " }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            while rest.first != "}" {
                let key = rest.prefix { $0 != "=" }
                rest = rest.dropFirst(key.count + 1)
                guard rest.first == "\"" else { throw Failed("no quote in: \(line)", EPROTO) }
                rest = rest.dropFirst()
                labels[String(key)] = try text(&rest)
                if rest.first == "," { rest = rest.dropFirst() }
            }
            rest = rest.dropFirst()
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()) else {
            throw Failed("no value in: \(line)", EPROTO)
        }
        return Sample(name: String(name), labels: labels, value: value)
    }

    /// The text up to the closing quote; removes both from `rest`.
    private static func text(_ rest: inout Substring) throws -> String {
        var result = ""
        while let character = rest.popFirst() {
            if character == "\"" { return result }
            guard character == "\\" else {
                result.append(character)
                continue
            }
            switch rest.popFirst() {
            case "n": result.append("\n")
            case "\\": result.append("\\")
            case "\"": result.append("\"")
            default: throw Failed("a bad escape", EPROTO)
            }
        }
        throw Failed("an open quote", EPROTO)
    }
}
