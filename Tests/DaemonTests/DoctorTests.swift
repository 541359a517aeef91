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
    static func configuration(
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

    /// A host that supports every mode.
    static var good: HostFacts {
        var host = HostFacts()
        host.capabilities = [.bpf, .netAdmin, .perfmon, .netRaw, .ipcLock]
        host.openFilesMax = 1 << 20
        host.interfaces = ["eth7": HostFacts.Interface(mtu: 9100)]
        return host
    }

    @Test("finds no fault with a host that supports everything", arguments: ForwardingMode.allCases)
    func nothingWrong(mode: ForwardingMode) {
        let settings = ListenerSettings(maxPacketSize: 1400, workers: 1)
        var host = Self.good
        host.interfaces = ["eth7": HostFacts.Interface(mtu: 1500)]
        let findings = Doctor(
            host: host, configuration: Self.configuration(mode: mode, settings: settings)
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
                "forwarding of IPv4", "sysctl -w net.ipv4.conf.eth7.forwarding=1", .xdpNAT,
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
        var host = Self.good
        breakIt(&host)
        let findings = Doctor(host: host, configuration: Self.configuration(mode: mode)).findings
        let problems = findings.filter { $0.level == .problem }
        #expect(problems.map(\.check) == [check], "\(findings)")
        #expect(problems.first?.remedy.contains(remedy) == true, "\(problems)")
        #expect(!DoctorReport(findings).ok)
    }

    @Test("says which capabilities are missing, and requires none that a mode can do without")
    func capabilities() throws {
        func found(_ configuration: Configuration, _ alter: (inout HostFacts) -> Void) throws
            -> Finding
        {
            var host = Self.good
            alter(&host)
            let findings = Doctor(host: host, configuration: configuration).findings
            return try #require(findings.first { $0.check == "capabilities" })
        }
        let one = try found(Self.configuration(mode: .afXDP)) { $0.capabilities.remove(.perfmon) }
        #expect(one.found == "CAP_PERFMON is missing" && one.remedy.contains("grant it"), "\(one)")
        let two = try found(Self.configuration(mode: .tcEBPF)) { $0.capabilities = [.netAdmin] }
        #expect(two.found == "CAP_PERFMON and CAP_BPF are missing", "\(two)")
        #expect(two.level == .problem && two.remedy.contains("grant them"))
        let clsact = Self.configuration(
            mode: .tcEBPF, settings: ListenerSettings(tcAttach: .clsact))
        #expect(
            try found(clsact) { _ in }.level == .ok, "a filter of clsact needs no CAP_SYS_ADMIN")
        let unlocked = try found(Self.configuration(mode: .afXDP)) {
            $0.capabilities.remove(.ipcLock)
            $0.mayLockAllMemory = true
        }
        #expect(unlocked.level == .ok, "memory that is not limited needs no CAP_IPC_LOCK")
    }

    @Test("checks the receive buffer against the kernel's limit")
    func buffer() {
        var host = Self.good
        host.capabilities = []
        host.receiveBufferMax = 212_992
        let settings = ListenerSettings(workers: 1, receiveBufferBytes: 8 << 20)
        let buffer = Doctor(host: host, configuration: Self.configuration(settings: settings))
            .findings
        #expect(
            buffer.contains {
                $0.level == .problem && $0.remedy == "sysctl -w net.core.rmem_max=8388608"
            }, "\(buffer)")
    }

    @Test("finds silent neighbours in the kernel's ARP table")
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
