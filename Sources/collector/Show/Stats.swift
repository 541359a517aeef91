// SPDX-License-Identifier: Apache-2.0

internal import ReusePortLB
internal import Synchronization

/// The counts of one collector at one moment.
struct Stats {
    var received: UInt64
    var bytes: UInt64
    var truncated: UInt64
    var sources: Int
    /// Whether more sources came than are told apart.
    var hasMoreSources: Bool
    var kernelDrops: UInt64
    /// What the program counted for the slot since it was joined; nil when it cannot be read.
    var slot: SlotCounters?

    init(_ reception: Reception, _ tally: Tally) {
        received = tally.received.load(ordering: .relaxed)
        bytes = tally.bytes.load(ordering: .relaxed)
        truncated = tally.truncated.load(ordering: .relaxed)
        sources = tally.sources.load(ordering: .relaxed)
        hasMoreSources = sources == Tally.sourcesMax
        kernelDrops = reception.socket.kernelDrops
        slot = reception.counters
    }

    var text: String {
        var parts = [
            "received \(received)", "bytes \(bytes)",
            "sources \(sources)\(hasMoreSources ? "+" : "")", "dropped by kernel \(kernelDrops)",
        ]
        if truncated > 0 { parts.append("cut \(truncated)") }
        if let slot {
            parts += [
                "selected \(slot.selected)", "fallback \(slot.fallback)", "missed \(slot.missed)",
            ]
        }
        return parts.joined(separator: "  ")
    }

    /// - Parameter event: `stats`, or `end` for the last one.
    func json(_ event: String) -> String {
        var members: [(String, JSON)] = [
            ("event", .string(event)),
            ("received", .number(received)),
            ("bytes", .number(bytes)),
            ("truncated", .number(truncated)),
            ("sources", .number(UInt64(sources))),
            ("kernel_drops", .number(kernelDrops)),
        ]
        if let slot { members += slot.json }
        return JSON.object(members).description
    }
}

extension SlotCounters {
    var json: [(String, JSON)] {
        [
            ("selected", .number(selected)), ("fallback", .number(fallback)),
            ("missed", .number(missed)),
        ]
    }
}
