// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc
internal import Measure

/// A forwarder in its own lab of veths, until `stop`.
struct LabForwarding {
    let forwarder: LabRates.Forwarder
    let lab: VethLab
    let stop: () -> Void

    /// - Parameters:
    ///   - daemon: the executable; only for the daemon.
    ///   - cpu: the daemon's CPU. Forwarding itself runs on the sender's.
    /// - Throws: `Trouble`: the bare programs need Linux 6.6, nftables need nft(8).
    init(
        _ forwarder: LabRates.Forwarder, to place: LabRates.Place, daemon: String, cpu: Int,
        folder: URL
    ) throws {
        let lab = try VethLab(place, folder: folder)
        (self.forwarder, self.lab) = (forwarder, lab)
        switch forwarder {
        case .bare:
            let link = try Self.attachBare(in: lab)
            stop = { close(link) }
        case .nftables:
            // The table ends with the lab.
            try lab.balancer.run(Self.table)
            stop = {}
        case .daemon:
            let command = try DaemonConfig.command(
                daemon, LabConfig.yaml(mode: "tc_ebpf"), folder: folder)
            let child = try lab.balancer.enter {
                try Child(command, cpu: cpu, folder: folder, launcher: Self.ownPins)
            }
            stop = { child.end() }
            try child.wait("to forward in the lab") {
                try LabFlood(cpu: cpu, warmUp: 0, turns: 1, milliseconds: 1)
                    .counts(of: [lab])[0].arrived > 0
            }
        }
    }

    private static func attachBare(in lab: VethLab) throws -> Int32 {
        let link = try lab.balancer.enter {
            switch lab.place {
            case .sameHost: lab_bare_peer(VethLab.ingress, lab.way)
            case .elsewhere:
                lab_bare_neigh(
                    VethLab.ingress, lab.way, VethLab.number(of: VethLab.receivers[0]))
            }
        }
        guard link >= 0 else {
            throw Trouble(
                "attach a bare program by TCX, which Linux has from 6.6 on: "
                    + String(cString: strerror(-link)))
        }
        return link
    }

    /// A flow, once seen, keeps its receiver.
    static var table: String {
        let receivers = VethLab.receivers.enumerated().map { "\($0.offset) : \($0.element)" }
        return """
            nft -f - <<'END'
            table ip lab {
                chain prerouting {
                    type nat hook prerouting priority dstnat
                    ip daddr \(VethLab.service) udp dport \(VethLab.port) \\
                        dnat to numgen inc mod 3 map { \(receivers.joined(separator: ", ")) }
                }
            }
            END
            """
    }

    /// A BPF file system that ends with the daemon, so that no pin stays, however it ends.
    static let ownPins = [
        "unshare", "--mount", "sh", "-c", #"mount -t bpf bpf /sys/fs/bpf && exec "$@""#, "sh",
    ]

    /// The daemon's counters; nil for the others.
    func accounting() throws -> Accounting? {
        guard forwarder == .daemon else { return nil }
        let scrape = try lab.balancer.enter {
            try Loopback.get("/metrics", port: LabConfig.metricsPort)
        }
        return try Accounting(scrape: scrape, listener: DaemonConfig.listener)
    }
}
