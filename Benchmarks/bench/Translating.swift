// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc
internal import Measure

/// A translator of XDP frames in its own lab of veths, until `stop`.
struct Translating {
    let forwarder: NATRates.Forwarder
    let scene: NATRates.Scene
    let wire: lab_wire
    let stop: () -> Void
    private let lab: VethLab

    /// - Parameters:
    ///   - daemon: the executable; only for the daemon.
    ///   - cpu: the daemon's CPU. Translation itself runs on the sender's.
    /// - Throws: `Trouble`: nftables need nft(8).
    init(
        _ forwarder: NATRates.Forwarder, in scene: NATRates.Scene, daemon: String, cpu: Int,
        folder: URL
    ) throws {
        let lab = try VethLab(.sameHost, folder: folder)
        (self.forwarder, self.scene, self.lab) = (forwarder, scene, lab)
        wire = lab.wire(
            sources: scene.clients, known: scene.associations, isOneArm: scene.isOneArm)
        switch forwarder {
        case .bare:
            let link = try Self.attachBare(in: lab, wire, isOneArm: scene.isOneArm)
            stop = { close(link) }
        case .nftables:
            // The route of the source is not checked here.
            try lab.balancer.run(
                """
                for at in all \(VethLab.ingress); do
                    echo 0 >/proc/sys/net/ipv4/conf/$at/rp_filter
                done
                \(LabForwarding.table)
                """)
            let result = try lab.balancer.enter { lab_take_frames(VethLab.ingress) }
            guard result == 0 else {
                throw Trouble("switch GRO on: \(String(cString: strerror(-result)))")
            }
            stop = {}
        case .daemon:
            // No `unanswered` list, so that replies do not move associations to another map.
            let yaml = LabConfig.yaml(
                mode: "xdp_nat", settings: ["xdp_mode: native"],
                more: ["one_arm: \(scene.isOneArm)", "unanswered: false"])
            let command = try DaemonConfig.command(daemon, yaml, folder: folder)
            let child = try lab.balancer.enter {
                try Child(command, cpu: cpu, folder: folder, launcher: LabForwarding.ownPins)
            }
            stop = { child.end() }
            let hooks = scene.isOneArm ? [VethLab.ingress] : [VethLab.ingress, lab.way]
            try child.wait("to be at its hooks") {
                try hooks.allSatisfy {
                    try lab.balancer.run("ip link show dev \($0)").contains("prog/xdp")
                }
            }
        }
    }

    private static func attachBare(
        in lab: VethLab, _ wire: lab_wire, isOneArm: Bool
    ) throws -> Int32 {
        let address = VethLab.number(of: VethLab.receivers[0])
        let link = try lab.balancer.enter {
            withUnsafePointer(to: wire) {
                lab_bare_translate(
                    VethLab.ingress, isOneArm ? nil : lab.way, $0, VethLab.macNumberOfReceiver,
                    address)
            }
        }
        guard link >= 0 else {
            throw Trouble("attach a bare program by XDP: \(String(cString: strerror(-link)))")
        }
        return link
    }

    /// The daemon's counters; nil for the others.
    func accounting() throws -> Accounting? {
        guard forwarder == .daemon else { return nil }
        let scrape = try lab.balancer.enter {
            try Loopback.get("/metrics", port: LabConfig.metricsPort)
        }
        return try Accounting(scrape: scrape, listener: DaemonConfig.listener)
    }
}
