// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Foundation
import LabNet
import LinuxNet
import Testing

@testable import udp_fanout

extension DaemonTests {
    @Suite("Doctor")
    struct DoctorTests {}
}

extension DaemonTests.DoctorTests {
    private func configuration(
        mode: ForwardingMode = .userspace,
        settings: ListenerSettings = ListenerSettings(workers: 1),
        receiver: IPAddress = IPAddress(v4: 0xc000_0201)
    ) -> Configuration {
        let listener = ListenerConfiguration(
            name: "in", bind: Endpoint(IPAddress(v4: 0), port: 5514), mode: mode,
            interface: mode.needsInterface ? "eth7" : nil,
            downstreams: [
                DownstreamConfiguration(
                    name: "r", address: Endpoint(receiver, port: 514))
            ], settings: settings)
        return Configuration(listeners: [listener], settings: settings)
    }

    /// A host that can do everything.
    private var good: HostFacts {
        var host = HostFacts()
        host.capabilities = [.bpf, .netAdmin, .perfmon, .netRaw, .ipcLock, .sysAdmin]
        host.openFilesMax = 1 << 20
        host.interfaces = ["eth7": HostFacts.Interface(mtu: 9100)]
        return host
    }

    @Test(
        "looks at the interfaces of the network that it is in, whichever /sys shows",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    func network() async throws {
        let facts = try await Namespace.run([
            "link add doc0 type veth peer name doc1", "link set doc0 mtu 1400",
        ]) { HostFacts.current(interfaces: ["doc0", "doc7"]) }
        let found = try #require(facts.interfaces["doc0"] ?? nil)
        #expect(found.mtu == 1400 && found.receiveQueues == 1)
        #expect((facts.interfaces["doc7"] ?? nil) == nil)
        let outside = HostFacts.current(interfaces: ["doc0"])
        #expect((outside.interfaces["doc0"] ?? nil) == nil)
    }

    @Test("finds nothing wrong with a host that can do it all", arguments: ForwardingMode.allCases)
    func nothingWrong(mode: ForwardingMode) {
        let settings = ListenerSettings(maxPacketSize: 1400, workers: 1)
        var host = good
        host.interfaces = ["eth7": HostFacts.Interface(mtu: 1500)]
        let findings = Doctor(
            host: host, configuration: configuration(mode: mode, settings: settings)
        ).findings
        #expect(findings.allSatisfy { $0.level == .ok }, "\(findings)")
    }

    private static let faults:
        [(String, String, ForwardingMode, @Sendable (inout HostFacts) -> Void)] = [
            (
                "BPF file system", "mount -t bpf bpf /sys/fs/bpf", .tcEBPF,
                { $0.hasBPFFileSystem = false }
            ),
            ("kernel", "take Linux 6.2", .xdpNAT, { $0.kernel = (4, 19) }),
            ("capabilities", "setcap(8)", .tcEBPF, { $0.capabilities = [.bpf] }),
            ("open files", "LimitNOFILE=", .userspace, { $0.openFilesMax = 64 }),
            (
                "listener in", "ip link show", .afXDP,
                { _ = $0.interfaces.updateValue(nil, forKey: "eth7") }
            ),
            (
                "forwarding at eth7", "sysctl -w net.ipv4.conf.eth7.forwarding=1", .tcEBPF,
                { $0.interfaces["eth7"]??.forwardsV4 = false }
            ),
            (
                "receiver in/r", "ip neighbour show 192.0.2.1", .userspace,
                { $0.silentNeighbours = ["192.0.2.1"] }
            ),
        ]

    @Test("names each fault and its remedy", arguments: faults.indices)
    func fault(index: Int) {
        let (check, remedy, mode, breakIt) = Self.faults[index]
        var host = good
        breakIt(&host)
        let findings = Doctor(host: host, configuration: configuration(mode: mode)).findings
        let problems = findings.filter { $0.level == .problem }
        #expect(problems.map(\.check) == [check], "\(findings)")
        #expect(problems.first?.remedy.contains(remedy) == true, "\(problems)")
        #expect(!DoctorReport(findings).ok)
    }

    @Test("asks for forwarding of IPv6 where the stack and the programs look for it")
    func forwardingV6() throws {
        let receiver = try #require(IPAddress("2001:db8::1"))
        let wanted = configuration(mode: .tcEBPF, receiver: receiver)
        for (faults, setting) in [
            ((false, true), "all"), ((true, false), "eth7"), ((false, false), "all"),
        ] {
            var host = good
            host.forwardsV6Everywhere = faults.0
            host.interfaces["eth7"]??.forwardsV6 = faults.1
            let found = Doctor(host: host, configuration: wanted).findings
                .filter { $0.level == .problem }
            #expect(found.map(\.remedy) == ["sysctl -w net.ipv6.conf.\(setting).forwarding=1"])
        }
    }

    @Test("judges the receive buffer by what the kernel allows, and queues by the CPUs")
    func sizes() {
        var host = good
        host.capabilities = []
        host.receiveBufferMax = 212_992
        let settings = ListenerSettings(workers: 1, receiveBufferBytes: 8 << 20)
        let buffer = Doctor(host: host, configuration: configuration(settings: settings)).findings
        #expect(
            buffer.contains {
                $0.level == .problem && $0.remedy == "sysctl -w net.core.rmem_max=8388608"
            }, "\(buffer)")
        host = good
        host.interfaces["eth7"]??.receiveQueues = 8
        host.cpus = 2
        let queues = Doctor(host: host, configuration: configuration(mode: .afXDP)).findings
        #expect(queues.contains { $0.remedy == "ethtool -L eth7 combined 2" }, "\(queues)")
    }

    @Test("reads who does not answer from the kernel's ARP table")
    func neighbours() {
        let table = """
            IP address       HW type     Flags       HW address            Mask     Device
            192.0.2.1        0x1         0x2         02:00:00:00:00:01     *        eth0
            192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0

            """
        #expect(HostFacts.silent(table) == ["192.0.2.2"])
    }

    @Test("exits 0 without a problem and 1 with one, as text and as JSON")
    func exits() async throws {
        let folder = try ScratchFolder()
        let config = try ConfigText.simple()
        try folder.write(config.yaml, to: "config.yaml")
        let good = try await DaemonUnderTest.run(["doctor"], folder: folder)
        #expect(good.code == 0, "\(good)")
        #expect(good.output.contains("ok       kernel: Linux"))
        let missing = config.yaml.replacing(
            "    balance: round_robin", with: "    mode: tc_ebpf\n    interface: none0")
        // A kernel mode refuses receivers on loopback.
        let outside = missing.replacing("\"127.0.0.1:", with: "\"192.0.2.1:")
        try folder.write(outside, to: "other.yaml")
        let bad = try await DaemonUnderTest.run(
            ["doctor", "-c", "other.yaml", "--json"], folder: folder)
        #expect(bad.code == 1)
        let object = try JSONSerialization.jsonObject(with: Data(bad.output.utf8)) as? [String: Any]
        #expect(object?["ok"] as? Bool == false)
        #expect(bad.output.contains("there is no interface none0"), "\(bad)")
    }
}
