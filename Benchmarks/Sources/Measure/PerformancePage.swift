// SPDX-License-Identifier: Apache-2.0

/// The page that keeps the result of a run: what stands around the figures is written by hand and
/// stays, the figures stand between two marks and are replaced.
public struct PerformancePage: Sendable {
    static let begin = "<!-- figures: written by `make bench`, do not edit -->"
    static let end = "<!-- end of figures -->"

    /// The text of a page that does not exist yet.
    static let template = """
        # Performance

        What a datagram costs udp-fanout, beside two forwarders that hold nothing but the system calls
        (`Benchmarks/Sources/reference`). The figure is CPU nanoseconds a delivered datagram: the on-CPU
        time of all threads of the forwarder over the datagrams that reached three sinks, dealt round
        robin. The sender saturates the forwarder from another CPU.

        The three run interleaved, each freshly started in every round. A ratio divides figures of one
        round: by the cheaper reference for plain input, by `reference gso` for super-packets. Shown are
        medians over the rounds, with the least and the greatest ratio. Compare ratios, not nanoseconds:
        these follow the machine and its load.

        For ReusePortLB the kernel's own account of the program's time (`kernel.bpf_stats_enabled`) stands
        beside that of an empty program, minima of interleaved rounds of 1024 packets from 256 sources; and
        what two collectors receive in a flood with the program beside what they receive without it.


        """

    /// What the machine was, a fact a line.
    public let facts: [(name: String, value: String)]
    /// How the run was started.
    public let command: String
    /// What it showed.
    public let report: Report

    /// - Parameters: as the properties.
    public init(facts: [(name: String, value: String)], command: String, report: Report) {
        self.facts = facts
        self.command = command
        self.report = report
    }

    /// The page with these figures: `old` with what stands between its marks replaced, or the
    /// template with the figures below it when `old` has no marks.
    public func text(replacing old: String?) -> String {
        let lines = (old ?? Self.template).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        guard let begin = lines.firstIndex(of: Self.begin),
            let end = lines[begin...].firstIndex(of: Self.end)
        else {
            return Self.template + figures + "\n"
        }
        return (lines[..<begin] + [figures] + lines[(end + 1)...]).joined(separator: "\n")
    }

    private var figures: String {
        let facts = facts.map { "- \($0.name): \($0.value)" }.joined(separator: "\n")
        let tables = [
            report.costTable, report.footprintTable, report.steeringTable, report.forwardingTable,
            report.translationTable,
        ].compactMap(\.self)
        return """
            \(Self.begin)
            \(facts)
            - command: `\(command)`

            \(tables.joined(separator: "\n\n"))
            \(Self.end)
            """
    }
}
