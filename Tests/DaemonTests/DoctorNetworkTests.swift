// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Foundation
import LabNet
import LinuxNet
import Testing

@testable import udp_fanout

extension DaemonTests {
    @Suite("Doctor on interfaces and routes")
    struct DoctorNetworkTests {}
}

extension DaemonTests.DoctorNetworkTests {
    private typealias Doctors = DaemonTests.DoctorTests

    private func problems(_ host: HostFacts, _ configuration: Configuration) -> [Finding] {
        Doctor(host: host, configuration: configuration).findings.filter { $0.level == .problem }
    }

    /// `doctor --json` in the namespace of the calling thread.
    private func report(_ yaml: String) async throws -> DoctorReport {
        let folder = try ScratchFolder()
        try folder.write(yaml, to: "config.yaml")
        let answer = try await DaemonUnderTest.run(["doctor", "--json"], folder: folder)
        return try JSONDecoder().decode(DoctorReport.self, from: Data(answer.output.utf8))
    }

    @Test(
        "checks the interfaces of its own network namespace, whatever /sys shows",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    func network() async throws {
        var configuration = Doctors.configuration(mode: .afXDP)
        configuration.listeners[0].interface = "doc0"
        var missing = configuration
        missing.listeners[0].interface = "doc7"
        let both = [configuration, missing]
        let (facts, stripped) = try await Namespace.run([
            "link add doc0 type veth peer name doc1", "link set doc0 mtu 1400",
        ]) {
            let facts = both.map(HostFacts.current(for:))
            _ = try Shell.output("ethtool -K doc0 rxvlan off")
            return (facts, HostFacts.current(for: both[0]).interfaces["doc0"]??.stripsTags)
        }
        let found = try #require(facts[0].interfaces["doc0"] ?? nil)
        #expect(found.mtu == 1400)
        #expect(found.queues == InterfaceQueues(receive: 1, areCombined: false))
        #expect(found.stripsTags && found.isVeth && found.vlans.isEmpty && stripped == false)
        #expect((facts[1].interfaces["doc7"] ?? nil) == nil)
        let outside = HostFacts.current(for: configuration)
        #expect((outside.interfaces["doc0"] ?? nil) == nil)
    }

    @Test("checks IPv6 forwarding where the stack and the programs read it")
    func forwardingV6() throws {
        let receiver = try #require(IPAddress("2001:db8::1"))
        let wanted = Doctors.configuration(mode: .xdpNAT, receiver: receiver)
        for (faults, setting) in [
            ((false, true), "all"), ((true, false), "eth7"), ((false, false), "all"),
        ] {
            var host = Doctors.good
            host.forwardsV6Everywhere = faults.0
            host.interfaces["eth7"]??.forwardsV6 = faults.1
            #expect(
                problems(host, wanted).map(\.remedy)
                    == ["sysctl -w net.ipv6.conf.\(setting).forwarding=1"])
        }
    }

    @Test("requires forwarding for tc_ebpf only where a receiver needs it, and never with one arm")
    func forwardingSettings() {
        var host = Doctors.good
        host.interfaces["eth7"]??.forwardsV4 = false
        let direct = Doctors.configuration(mode: .tcEBPF)
        #expect(problems(host, direct).isEmpty)
        host.forwarded = [IPAddress(v4: 0xc000_0201)]
        #expect(problems(host, direct).map(\.check) == ["forwarding of IPv4"])
        var oneArm = Doctors.configuration(mode: .xdpNAT)
        oneArm.listeners[0].nat.isOneArm = true
        #expect(problems(host, oneArm).isEmpty)
    }

    @Test("names every interface that must forward for xdp_nat, and the setting that enables it")
    func exits() {
        var host = Doctors.good
        host.exits = [IPAddress(v4: 0xc000_0201): "eth8"]
        for name in ["eth7", "eth8"] {
            host.interfaces[name] = HostFacts.Interface(mtu: 1500, forwardsV4: false)
        }
        host.forwardsV4Everywhere = false
        let wanted = Doctors.configuration(mode: .xdpNAT)
        let off = problems(host, wanted)
        #expect(off.count == 1 && off[0].found.hasPrefix("off at eth7, eth8:"), "\(off)")
        #expect(off.map(\.remedy) == ["sysctl -w net.ipv4.ip_forward=1"])
        // Writing 1 to a setting that is already 1 changes nothing.
        host.forwardsV4Everywhere = true
        #expect(
            problems(host, wanted).map(\.remedy) == [
                "sysctl -w net.ipv4.conf.eth7.forwarding=1 net.ipv4.conf.eth8.forwarding=1"
            ])
    }

    @Test("reports each finding of an interface once, however many listeners share it")
    func once() {
        var host = Doctors.good
        host.cpus = 2
        host.interfaces["eth7"] = HostFacts.Interface(
            mtu: 1500, queues: InterfaceQueues(receive: 8, areCombined: true), forwardsV4: false)
        for mode in [ForwardingMode.tcEBPF, .afXDP, .xdpNAT] {
            host.forwarded = [IPAddress(v4: 0xc000_0201)]
            var shared = Doctors.configuration(mode: mode)
            var second = shared.listeners[0]
            second.name = "in-2"
            second.settings.maxPacketSize = 9000
            shared.listeners.append(second)
            let checks = Doctor(host: host, configuration: shared).findings.map(\.check)
            #expect(checks.count == Set(checks).count, "\(checks)")
            #expect(checks.contains("MTU of eth7"))
        }
    }

    @Test(
        "says from which length on af_xdp leaves a datagram to the stack, and nothing in other modes"
    )
    func fragments() throws {
        func remedies(
            _ mode: ForwardingMode, _ bind: String = "0.0.0.0:5514", mtu: Int = 1500,
            longest: Int = 9000, served: ServedAddresses = .listed([])
        ) throws -> [String] {
            var host = Doctors.good
            host.interfaces["eth7"] = HostFacts.Interface(mtu: mtu)
            var wanted = Doctors.configuration(
                mode: mode, settings: ListenerSettings(maxPacketSize: longest, workers: 1))
            wanted.listeners[0].bind = try Endpoint(parsing: bind)
            wanted.listeners[0].addresses = served
            return Doctor(host: host, configuration: wanted).findings.map(\.remedy).filter {
                $0.contains("max_packet_size")
            }
        }
        // These modes forward fragments; a limit below the datagram's length would drop them.
        #expect(try remedies(.tcEBPF) == [] && remedies(.xdpNAT) == [])
        let v4 = try #require(IPAddress("192.0.2.1"))
        for (bind, mtu, served, longest) in [
            ("0.0.0.0:5514", 1500, ServedAddresses.listed([]), 1472),
            ("[2001:db8::1]:5514", 1500, .listed([]), 1452),
            // IPv4 headers are shorter, so a longer datagram arrives whole.
            ("[2001:db8::1]:5514", 1500, .listed([v4]), 1472), ("[::]:5514", 1500, .any, 1472),
            ("[::]:5514", 1500, .listed([]), 1472),
            // The size of a frame is the limit.
            ("0.0.0.0:5514", 9000, .listed([]), 3790),
        ] {
            let found = try remedies(.afXDP, bind, mtu: mtu, served: served)
            #expect(found.count == 1)
            #expect(found.first?.hasSuffix(" max_packet_size: \(longest)") == true, "\(found)")
            #expect(found.first?.contains("raise the MTU") == (mtu == 1500))
            #expect(try remedies(.afXDP, bind, mtu: mtu, longest: longest, served: served) == [])
        }
    }

    @Test(
        "requires VLAN tags that XDP programs see, where the interface has VLANs or may have",
        arguments: ForwardingMode.allCases)
    func tags(mode: ForwardingMode) {
        func advice(_ alter: (inout HostFacts.Interface) -> Void) -> [Finding] {
            var interface = HostFacts.Interface(mtu: 1500)
            alter(&interface)
            var host = Doctors.good
            host.interfaces = ["eth7": interface]
            return Doctor(host: host, configuration: Doctors.configuration(mode: mode)).findings
                .filter { $0.check == "VLAN tags of eth7" }
        }
        let isConcerned = [.afXDP, .xdpNAT].contains(mode)
        #expect(advice { $0.stripsTags = false }.isEmpty)
        #expect(advice { ($0.stripsTags, $0.isVeth) = (true, true) }.isEmpty)
        let hardware = advice { $0.stripsTags = true }
        #expect(hardware.map(\.level) == (isConcerned ? [.advice] : []))
        let vlans = advice {
            ($0.stripsTags, $0.isVeth, $0.vlans) = (true, true, ["eth7.8", "eth7.5"])
        }
        #expect(vlans.map(\.remedy) == (isConcerned ? ["ethtool -K eth7 rxvlan off"] : []))
        #expect(vlans.allSatisfy { $0.found.contains("eth7.5, eth7.8") })
    }

    @Test("names the command that sets the queues, by what the driver supports")
    func queues() {
        for (combined, command) in [
            (true, "ethtool -L eth7 combined 2"),
            (false, "ethtool -L eth7 rx 2 tx 2, and as many at the other end of a veth"),
        ] {
            var host = Doctors.good
            host.interfaces["eth7"]??.queues = InterfaceQueues(receive: 8, areCombined: combined)
            host.cpus = 2
            let found = Doctor(host: host, configuration: Doctors.configuration(mode: .afXDP))
                .findings
            #expect(found.contains { $0.remedy == command }, "\(found)")
        }
    }

    @Test(
        "a receiver without a route is a problem where the daemon treats it as one",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"),
        arguments: ForwardingMode.allCases)
    func routes(mode: ForwardingMode) async throws {
        let lab = try VethLab(receivers: 1)
        let yaml = """
            listeners:
              - name: in
                bind: "\(VethLab.v4(0, 1)):5514"
                mode: \(mode.rawValue)
                \(mode.needsInterface ? "interface: lb0" : "balance: random")
                downstream:
                  - {name: near, address: "\(VethLab.v4(1, 2)):9000"}
                  - {name: far, address: 10.41.0.1:9000}
                  - {name: idle, address: 10.42.0.1:9000, weight: 0}

            """
        try await lab.balancer.run {
            func found(_ more: String = "") async throws -> [Finding] {
                try await report(yaml + more).findings.filter {
                    $0.check.hasPrefix("receiver in/") && $0.check != "receiver in/idle"
                }
            }
            let before = try await found()
            #expect(before.map(\.check) == ["receiver in/far"], "\(before)")
            // Clients of NAT stay with a server of weight 0.
            let idle = try await report(yaml).findings.contains { $0.check == "receiver in/idle" }
            #expect(idle == (mode == .xdpNAT))
            if mode == .xdpNAT { #expect(try await found("    one_arm: true\n").isEmpty) }
            #expect(before.first?.level == .problem)
            #expect(before.first?.found == "there is no route to 10.41.0.1")
            #expect(before.first?.remedy == "add a route (ip route), or remove it")
            // In mode tc_ebpf the route is looked up for each packet by its incoming interface.
            try Namespace.command("ip rule add iif lb0 table 100")
            #expect(try await found().isEmpty == (mode == .tcEBPF))
            try Namespace.command("ip route add 10.41.0.0/16 via \(VethLab.v4(1, 2))")
            #expect(try await found() == [])
        }
    }

    @Test(
        "its remedies for forwarding and queues work",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    func remedies() async throws {
        let lab = try VethLab()
        let yaml = VethLab.config([Endpoint(VethLab.v4(1, 2), port: 9000)], mode: "xdp_nat")
        try await lab.balancer.run(ownMounts: true) {
            try Namespace.command("mount -t bpf bpf /sys/fs/bpf")
            try Namespace.command("sysctl -qw net.ipv4.ip_forward=0")
            for setting in ["net.ipv4.ip_forward", "net.ipv4.conf.out0.forwarding"] {
                try Namespace.command("sysctl -qw \(setting)=0")
                let before = try await report(yaml).findings.filter { $0.level == .problem }
                #expect(before.map(\.check) == ["forwarding of IPv4"], "\(before)")
                for finding in before { try Namespace.command(finding.remedy) }
                let after = try await report(yaml)
                #expect(after.ok, "\(after)")
            }
        }
    }
}
