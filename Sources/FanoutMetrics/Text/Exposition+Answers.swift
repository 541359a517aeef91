// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

// Of modes that carry both directions.

extension Exposition {
    mutating func eachAnswer(_ value: (AnswerCounters) -> UInt64) {
        for row in listeners {
            if let answers = row.counters.answers { page.sample(row.labels, value(answers)) }
        }
    }

    mutating func eachAnswerReason() {
        let reasons = Self.reasonLabels { _ in true }
        for row in listeners {
            guard let answers = row.counters.answers else { continue }
            for (reason, label) in reasons {
                page.sample(row.labels, and: label, answers.drops[reason] ?? 0)
            }
        }
    }

    mutating func natEvents() {
        for (event, count) in snapshot.events.sorted(by: { $0.key < $1.key }) {
            page.sample(SampleWriter.labels(("event", event)), count)
        }
    }

    mutating func transmitErrors() {
        for (interface, count) in snapshot.transmitErrors.sorted(by: { $0.key < $1.key }) {
            page.sample(SampleWriter.labels(("interface", interface)), count)
        }
    }
}
