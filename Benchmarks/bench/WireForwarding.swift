// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc
internal import Measure

/// A forwarder of XDP frames in its own lab of veths, until `stop`.
struct WireForwarding {
    let forwarder: WireRates.Forwarder
    let lab: VethLab
    let child: Child

    /// Returns once it forwards.
    ///
    /// - Parameters:
    ///   - daemon: the executable; only for the daemon.
    /// - Throws: `Trouble`.
    init(
        _ forwarder: WireRates.Forwarder, daemon: String, cpu: Int, folder: URL
    ) throws {
        let lab = try VethLab(.sameHost, folder: folder)
        (self.forwarder, self.lab) = (forwarder, lab)
        try lab.balancer.run("ip route add 10.9.0.0/16 via 10.8.0.2")
        if forwarder == .userspace { try Self.serveBySockets(in: lab) }
        let command = try Self.command(forwarder, daemon, folder: folder)
        child = try lab.balancer.enter {
            try Child(command, cpu: cpu, folder: folder, launcher: Self.ownFileSystems)
        }
        let wire = lab.wire(forwarder: child.pid)
        try child.wait("to forward in the lab") {
            let result = withUnsafePointer(to: wire) { lab_wire_delivers($0) }
            guard result >= 0 else {
                throw Trouble(
                    "send frames by a program, which Linux can from 5.18 on: "
                        + String(cString: strerror(-result)))
            }
            return result > 0
        }
    }

    /// Ends it.
    func stop() { child.end() }

    private static func command(
        _ forwarder: WireRates.Forwarder, _ daemon: String, folder: URL
    ) throws -> [String] {
        switch forwarder {
        case .ring: reference("ring")
        case .mmsg: reference("mmsg")
        case .userspace:
            try DaemonConfig.command(
                daemon,
                LabConfig.yaml(
                    mode: "userspace", settings: ["workers: 1", "recv_buf_size: 8388608"]),
                folder: folder)
        case .afxdp:
            try DaemonConfig.command(
                daemon, LabConfig.yaml(mode: "af_xdp"), folder: folder)
        }
    }

    private static func reference(_ kind: String) -> [String] {
        let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "xskreference").path
        return [
            program, kind, VethLab.ingress, "out0", VethLab.service, "\(VethLab.port)",
            VethLab.macOfReceiver,
        ] + VethLab.receivers
    }

    /// Sockets receive only datagrams to addresses of the host, and a veth accepts XDP frames only with a program or
    /// GRO on it.
    private static func serveBySockets(in lab: VethLab) throws {
        try lab.balancer.run("ip address add \(VethLab.service)/32 dev lo")
        let result = try lab.balancer.enter { lab_take_frames(VethLab.ingress) }
        guard result == 0 else {
            throw Trouble("switch GRO on: \(String(cString: strerror(-result)))")
        }
    }

    /// A /sys of the lab's network, and a BPF file system that ends with the process, so that no pin stays, however it
    /// ends.
    private static let ownFileSystems = [
        "unshare", "--mount", "sh", "-c",
        #"mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf && exec "$@""#, "sh",
    ]

    /// The daemon's counters; nil for the references.
    func accounting() throws -> Accounting? {
        guard forwarder.isDaemon else { return nil }
        let scrape = try lab.balancer.enter {
            try Loopback.get("/metrics", port: LabConfig.metricsPort)
        }
        return try Accounting(scrape: scrape, listener: DaemonConfig.listener)
    }
}
