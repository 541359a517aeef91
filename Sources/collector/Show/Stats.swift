// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import ReusePortLB
internal import Synchronization

/// The counts of one collector at one moment.
struct Stats {
    var received: UInt64
    var bytes: UInt64
    var truncated: UInt64
    var sources: Int
    /// Whether there were more sources than are counted.
    var hasMoreSources: Bool
    var kernelDrops: UInt64
    /// The slot's counters since the join; nil when they cannot be read.
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

/// Shows the counts while a collector runs, and at its end.
struct StatsDisplay: Sendable {
    private let reception: Reception
    private let tally: Tally
    private let isJSON: Bool
    /// Whether one line is rewritten in place.
    private let isRewritten: Bool
    /// nil when only the end is reported.
    private let interval: Duration?

    init(_ reception: Reception, _ tally: Tally, _ flags: ShowFlags) {
        self.reception = reception
        self.tally = tally
        isJSON = flags.json
        isRewritten = flags.quiet && !flags.json && StandardStream.output.isTerminal
        interval =
            flags.statsInterval.map { .seconds($0) }
            ?? (isRewritten ? .milliseconds(500) : nil)
    }

    /// Shows them at each interval until the task is cancelled.
    func run() async {
        guard let interval else { return }
        while !Task.isCancelled {
            do { try await Task.sleep(for: interval) } catch { return }
            if !show("stats", isRewritten: isRewritten) { return reception.stop() }
        }
    }

    /// Shows the final counts.
    ///
    /// - Returns: false when they could not be written.
    func report() -> Bool {
        // Replaces the line of counts.
        if isRewritten { StandardStream.output.write("\r\u{1b}[K") }
        if !isJSON { StandardStream.output.write("collector ended: ") }
        return show("end", isRewritten: false)
    }

    /// - Returns: false if the reader is gone.
    private func show(_ event: String, isRewritten: Bool) -> Bool {
        let stats = Stats(reception, tally)
        if isJSON { return StandardStream.output.write(stats.json(event) + "\n") }
        // Back to the beginning of the line, and its rest erased (ECMA-48: EL).
        return StandardStream.output.write(
            isRewritten ? "\r\(stats.text)\u{1b}[K" : stats.text + "\n")
    }
}
