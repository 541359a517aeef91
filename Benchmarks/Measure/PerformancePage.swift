// SPDX-License-Identifier: Apache-2.0

/// The page with the result of a run. Its text is written by hand and stays; the figures between two marks are
/// replaced.
public struct PerformancePage: Sendable {
    static let begin = "<!-- figures: written by `make bench`, do not edit -->"
    static let end = "<!-- end of figures -->"

    /// The text of a page that does not exist yet.
    static let template = """
        # Performance

        What a datagram costs udp-fanout, beside two forwarders that consist of system calls alone (`Benchmarks/reference`). The
        figure is CPU nanoseconds a delivered datagram: the on-CPU time of all threads of the forwarder over the datagrams that
        reached the receivers by round robin. The sender saturates the forwarder from another CPU.

        The three run interleaved, each freshly started in every round. A ratio divides figures of one round: by the cheaper
        reference for plain input, by `reference gso` for super-packets. Shown are medians over the rounds, with the least and the
        greatest ratio. Compare ratios, not nanoseconds, which depend on the machine and its load.

        **ReusePortLB**: the kernel's own account of the program's time (`kernel.bpf_stats_enabled`), net of an empty program, beside a bare
        one that hashes the source, looks up a table and selects a socket: minima of interleaved rounds of 1024 packets from 256 sources.
        What two collectors receive in a flood, with and without the program. The receiver's CPU time a datagram of 64 bytes in trains of
        64, with UDP_GRO and without (`rplb_receive_batch`).

        **`tc_ebpf`**: nanoseconds a run of the program alone (BPF_PROG_TEST_RUN), net of an empty one, minima of interleaved rounds.
        Then the whole path of a datagram of 64 bytes in network namespaces: a sender floods a receiver from 16 ports over veths,
        through the daemon, a bare program with the same redirect helper, or nftables (DNAT, connections tracked, flows known). They
        take turns of 20 ms, 50 a round, in new labs each round. `ns` is the time between two arrivals. The whole path runs on the
        sender's CPU, so most of it is the sender and the receiver's stack, the same for all three. A ratio divides the rates of
        one round; `lost` is sent less delivered.

        **`af_xdp`**: the kernel generates frames of 64 bytes of payload from 4096 sources on one CPU (BPF_F_TEST_XDP_LIVE_FRAMES), more
        than a forwarder handles. The forwarder has the other CPU. Each has its own lab and 40 turns of 50 ms a round, and is stopped
        (SIGSTOP) outside them. `xskreference` (`Benchmarks/xskreference`) receives by AF_XDP; `ring` rewrites as the daemon does and sends
        by AF_XDP, `mmsg` sends by `sendmmsg`. The kernel's part of receiving runs on the generator's CPU and is not in `CPU ns`. An XDP
        program at the receiver, on the forwarder's CPU, counts and drops. A ratio divides the rates of one round.

        **`xdp_nat`**: the program alone as for `tc_ebpf`, then frames as for `af_xdp` over veths in native mode: a bare program that writes
        constants over the headers, nftables and the daemon have their own labs and 20 turns of 50 ms a round. All clients are known
        before the first turn. Everything runs on one CPU, so `ns` is the whole path, and a ratio says less than the program's own
        cost. nftables gets packets that the veth makes of frames.


        """

    /// The machine, one fact a line.
    public let facts: [(name: String, value: String)]
    /// How the run was started.
    public let command: String
    /// The results.
    public let report: Report

    /// - Parameters: as the properties.
    public init(facts: [(name: String, value: String)], command: String, report: Report) {
        self.facts = facts
        self.command = command
        self.report = report
    }

    /// The page with these figures: `old` with the text between its marks replaced, or the template with the figures
    /// below it when `old` has no marks.
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
        return """
            \(Self.begin)
            \(facts)
            - command: `\(command)`

            \(report.tables.joined(separator: "\n\n"))
            \(Self.end)
            """
    }
}
