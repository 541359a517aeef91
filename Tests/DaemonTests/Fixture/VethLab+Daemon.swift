// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

/// A daemon in a kernel mode in the balancer of a network of veths.
extension VethLab {
    static let port: UInt16 = 5514

    /// One listener on the balancer's interface to the client.
    static func config(
        _ receivers: [Endpoint], mode: String = "tc_ebpf", attach: String = "auto",
        settings: String = "", _ more: String = ""
    ) -> String {
        var lines = [
            "listeners:", "  - name: in", "    bind: \"\(v4(0, 1)):\(port)\"",
            "    mode: \(mode)", "    interface: lb0", "    downstream:",
        ]
        for (index, receiver) in receivers.enumerated() {
            lines += ["      - name: r\(index)", "        address: \"\(receiver)\""]
        }
        lines += ["settings:", "  tc_attach: \(attach)"]
        if settings != "" { lines.append("  \(settings)") }
        return lines.joined(separator: "\n") + "\n" + more
    }

    /// A sink in each receiver, which records the datagrams by number.
    func sinks() throws -> [Sink] {
        try receivers.enumerated().map { index, receiver in
            try receiver.enter { try Sink(on: Self.v4(index + 1, 2), keepsPayloads: false) }
        }
    }

    /// Traffic from the client to the listener of `config`.
    func traffic() throws -> Traffic {
        let target = Endpoint(Self.v4(0, 1), port: Self.port)
        return try client.enter { try Traffic(to: target, from: Self.v4(9, 1)) }
    }

    /// What `tc` shows and what is pinned, in the calling thread's network and mounts.
    static func state() throws -> [String] {
        try [
            "tc qdisc show dev lb0", "tc filter show dev lb0 ingress",
            "find /sys/fs/bpf -path */udp-fanout*",
        ].map { try Shell.output($0) }
    }
}
