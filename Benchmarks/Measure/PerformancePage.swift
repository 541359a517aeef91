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
        (`Benchmarks/reference`). The figure is CPU nanoseconds a delivered datagram: the on-CPU
        time of all threads of the forwarder over the datagrams that reached the receivers, dealt round
        robin. The sender saturates the forwarder from another CPU.

        The three run interleaved, each freshly started in every round. A ratio divides figures of one
        round: by the cheaper reference for plain input, by `reference gso` for super-packets. Shown are
        medians over the rounds, with the least and the greatest ratio. Compare ratios, not nanoseconds:
        these follow the machine and its load.

        For ReusePortLB the kernel's own account of the program's time (`kernel.bpf_stats_enabled`) stands
        beside that of an empty program, minima of interleaved rounds of 1024 packets from 256 sources; and
        what two collectors receive in a flood with the program beside what they receive without it.

        For mode `tc_ebpf`, nanoseconds a run of its program alone (BPF_PROG_TEST_RUN), net of an empty one,
        minima of interleaved rounds. Then the whole way of a datagram of 64 bytes in network namespaces: one
        sender floods a receiver from 16 ports over veths, through a balancer. The daemon forwards in one lab;
        in others like it forward a program that calls the same redirect helper and does nothing else (no
        packet is read, none is altered) and nftables (DNAT, connections tracked, flows known). They take turns
        of 20 ms, 50 a round, in new labs each round. `ns` is the time from one arrival to the next. All of the
        way runs on the sender's CPU, so it holds what the sender and the receiver's stack take, too: the same for
        all three, and most of it. A ratio divides the rates of one round; `lost` is sent less delivered.

        For mode `af_xdp`, frames of 64 bytes of payload from 4096 sources that the kernel makes out of nothing on
        one CPU (BPF_F_TEST_XDP_LIVE_FRAMES), more than anybody forwards, arrive at a veth; who forwards has
        the other CPU. Each has a lab of its own and 40 turns of 50 ms a round, and is stopped (SIGSTOP)
        outside them. `xskreference` (`Benchmarks/xskreference`) receives by AF_XDP; `ring` rewrites as the
        daemon does and sends by AF_XDP, `mmsg` sends by `sendmmsg`. The kernel's part of receiving runs on the
        generator's CPU, and `CPU ns` does not count it: busy polling, which would bring it over, does nothing where
        the kernel copies (Linux 6.18 gives such a socket no NAPI). An XDP program at the receiver, on the forwarder's
        CPU, counts and drops. A ratio divides the rates of one round.

        For mode `xdp_nat`, its program alone as that of `tc_ebpf`, then the same frames over veths in native mode: a
        bare program that writes constants over the headers, nftables (DNAT, connections tracked) and the daemon
        have labs of their own and 20 turns of 50 ms a round. All clients are known before the first turn. Generator,
        translation and the program that counts are on one CPU, so `ns` is all of the way, and a ratio says
        less than the program's own cost does. nftables get packets that the veth makes of frames.


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
        return """
            \(Self.begin)
            \(facts)
            - command: `\(command)`

            \(report.tables.joined(separator: "\n\n"))
            \(Self.end)
            """
    }
}
