// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Foundation
import Glibc
import LabNet
import LinuxNet
import Testing

@testable import udp_fanout

extension DaemonTests {
    /// What keeps a daemon from starting, or datagrams from arriving, with a valid file.
    @Suite("Doctor on addresses, credentials and user namespaces")
    struct DoctorPlaceTests {}
}

extension DaemonTests.DoctorPlaceTests {
    private typealias Doctors = DaemonTests.DoctorTests

    private func report(
        _ yaml: String, environment: [String: String] = [:], prefix: [String] = []
    ) async throws -> (code: Int32, report: DoctorReport) {
        let folder = try ScratchFolder()
        try folder.write(yaml, to: "config.yaml")
        let process = try DaemonUnderTest(
            nil, ["doctor", "--json", "--config", folder.path("config.yaml")],
            environment: environment, folder: folder, prefix: prefix
        ).process
        guard case .exited(let code) = try await process.exit() else {
            throw Failed("exit", EPROTO)
        }
        let output = process.record.state.output.joined()
        return (code, try JSONDecoder().decode(DoctorReport.self, from: Data(output.utf8)))
    }

    private func yaml(_ bind: String, _ more: String = "") -> String {
        """
        listeners:
          - name: in
            bind: "\(bind)"
            downstream: [{name: r, address: "127.0.0.1:9"}]
        settings: {workers: 1}
        \(more)

        """
    }

    private func problems(_ host: HostFacts, _ configuration: Configuration) -> [Finding] {
        Doctor(host: host, configuration: configuration).findings.filter { $0.level == .problem }
    }

    @Test("an address that the host lacks is a problem, of a listener and of the metrics server")
    func lacking() async throws {
        let listener = try await report(yaml("192.0.2.77:5514"))
        let found = listener.report.findings.filter { $0.level == .problem }
        #expect(found.map(\.check) == ["address of in"] && listener.code == 1, "\(found)")
        #expect(found.first?.found == "no interface of this host has 192.0.2.77")
        #expect(
            found.first?.remedy.contains("set bind to an address that `ip address` lists") == true)
        let metrics = try await report(
            yaml("\(try Endpoint.free())", "metrics: {enabled: true, bind: \"192.0.2.77:9090\"}"))
        #expect(metrics.code == 1)
        #expect(
            metrics.report.findings.filter { $0.level == .problem }.map(\.check)
                == ["address of metrics"])
        let shared = try await report(
            yaml("192.0.2.77:5514").replacing("workers: 1", with: "workers: 1, share_port: true"))
        #expect(shared.code == 1)
    }

    @Test("a port that another process serves is a problem, except with share_port")
    func taken() async throws {
        let other = try Socket.listening(
            on: Endpoint(.loopback, port: 0), sharing: .exclusive)
        let place = "127.0.0.1:\(try other.boundPort)"
        let found = try await report(yaml(place))
        #expect(found.code == 1)
        let problem = found.report.findings.first { $0.level == .problem }
        #expect(problem?.found == "another process serves \(place)")
        #expect(problem?.remedy.contains("ss -lunp") == true)
        // The start fails as well.
        let folder = try ScratchFolder()
        try folder.write(yaml(place), to: "config.yaml")
        let start = try await DaemonUnderTest.run(["--config", folder.path("config.yaml")])
        #expect(start.code == 1)
        let shared = yaml(place).replacing("workers: 1", with: "workers: 1, share_port: true")
        #expect(try await report(shared).code == 0)
    }

    @Test("a port that this configuration's daemon serves is no problem; any other taken port is")
    func own() async throws {
        var config = try ConfigText.simple(metrics: true)
        config.settings = ["workers: 1"]
        try await DaemonUnderTest.running(config.yaml) { daemon in
            func doctor(_ text: String) async throws -> (code: Int32, output: String) {
                try daemon.folder.write(text, to: "other.yaml")
                let answer = try await DaemonUnderTest.run(
                    ["doctor", "--config", "other.yaml"], folder: daemon.folder)
                return (answer.code, answer.output)
            }
            let own = try await doctor(config.yaml)
            #expect(own.code == 0, "\(own)")
            #expect(own.output.contains("served by the running daemon"))
            let other = try Socket.listening(
                on: Endpoint(.loopback, port: 0), sharing: .exclusive)
            let place = "127.0.0.1:\(try other.boundPort)"
            let foreign = try await doctor(yaml(place))
            #expect(foreign.code == 1 && foreign.output.contains("another process serves \(place)"))
        }
    }

    @Test("a privileged port is a problem without the capability")
    func privileged() throws {
        var configuration = Doctors.configuration()
        configuration.listeners[0].bind = Endpoint(IPAddress(v4: 0), port: 514)
        var host = Doctors.good
        let place = HostFacts.Place(kind: .listener, endpoint: configuration.listeners[0].bind)
        host.refusals = [place: SystemError("bind", code: EACCES)]
        let found = problems(host, configuration)
        #expect(found.map(\.check) == ["capabilities", "address of in"])
        #expect(found.allSatisfy { $0.remedy.contains("setcap(8)") })
    }

    @Test("preserve_source without CAP_NET_RAW is a problem, since the start fails")
    func rawSocket() {
        var configuration = Doctors.configuration()
        configuration.listeners[0].preserveSource = true
        var host = Doctors.good
        host.capabilities.remove(.netRaw)
        #expect(problems(host, configuration).map(\.found) == ["CAP_NET_RAW is missing"])
    }

    @Test("capabilities of a user namespace are distinguished from the host's")
    func namespaces() {
        #expect(!HostFacts.isInUserNamespace("         0          0 4294967295\n"))
        #expect(HostFacts.isInUserNamespace("         0       1000          1\n"))
        #expect(HostFacts.isInUserNamespace("0 100000 65536\n65536 1 1\n"))
        #expect(!HostFacts.isInUserNamespace(nil))
        #expect(HostFacts.effective([.bpf, .netAdmin], isInUserNamespace: false).contains(.bpf))
        #expect(!HostFacts.effective([.bpf, .netAdmin], isInUserNamespace: true).contains(.bpf))
        var host = Doctors.good
        host.isInUserNamespace = true
        host.capabilities = [.netAdmin]
        let found = problems(host, Doctors.configuration(mode: .tcEBPF))
        #expect(found.map(\.check) == ["capabilities"])
        #expect(found.first?.found.contains("in this user namespace, root or not") == true)
        #expect(found.first?.remedy.contains("PrivateUsers=no") == true)
        #expect(found.first?.remedy.contains("as root") == false)
    }

    @Test(
        "root of a user namespace lacks the capabilities that the start needs",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    func nested() async throws {
        let kernel = yaml("192.0.2.1:5514").replacing(
            "downstream: [{name: r, address: \"127.0.0.1:9\"}]",
            with: "mode: tc_ebpf\n    interface: lo\n    downstream: "
                + "[{name: r, address: \"192.0.2.9:9\"}]")
        let outside = try await report(kernel)
        #expect(outside.report.findings.first { $0.check == "capabilities" }?.level == .ok)
        let inside = try await report(
            kernel, prefix: ["/usr/bin/unshare", "--user", "--map-root-user"])
        let found = inside.report.findings.first { $0.check == "capabilities" }
        #expect(inside.code == 1)
        #expect(found?.level == .problem && found?.found.contains("CAP_BPF") == true, "\(inside)")
        // CAP_NET_RAW counts where the network belongs to the namespace, and only there.
        let raw = yaml("\(try Endpoint.free())").replacing(
            "    downstream", with: "    preserve_source: true\n    downstream")
        for (options, isMissing) in [
            (["--user", "--map-root-user"], true), (["--user", "--map-root-user", "--net"], false),
        ] {
            let found = try await report(raw, prefix: ["/usr/bin/unshare"] + options).report
                .findings
            let capabilities = found.first { $0.check == "capabilities" }
            #expect(capabilities?.found.contains("CAP_NET_RAW") == isMissing, "\(found)")
        }
    }

    @Test(
        "an address on the link that this host lacks is advised about, until it is added",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"),
        arguments: [ForwardingMode.tcEBPF, .afXDP, .xdpNAT])
    func onLink(mode: ForwardingMode) async throws {
        let lab = try VethLab()
        let (vip, far) = (VethLab.v4(0, 77), "10.99.0.1")
        let yaml = """
            listeners:
              - name: in
                bind: "\(vip):5514"
                mode: \(mode.rawValue)
                interface: lb0
                addresses: ["\(far)"]
                downstream: [{name: r, address: "\(VethLab.v4(1, 2)):9000"}]

            """
        try await lab.balancer.run {
            func found() async throws -> [Finding] {
                try await report(yaml).report.findings.filter { $0.check == "address of in" }
            }
            let before = try await found()
            #expect(before.map(\.level) == [.advice], "\(before)")
            #expect(before.first?.found.hasPrefix("\(vip) is in a network of lb0") == true)
            let command = "ip address add \(vip)/32 dev lb0"
            #expect(before.first?.remedy.hasPrefix(command + ",") == true)
            try Namespace.command(command)
            #expect(try await found().isEmpty)
        }
    }

    @Test(
        "a server of xdp_nat on this host is advised about",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    func localServer() async throws {
        let lab = try VethLab()
        let own = Endpoint(VethLab.v4(1, 1), port: 9000)
        try await lab.balancer.run {
            for (mode, isNamed) in [("xdp_nat", true), ("tc_ebpf", false)] {
                let found = try await report(VethLab.config([own], mode: mode)).report.findings
                let advice = found.filter { $0.found.contains("where no program sees the replies") }
                #expect(advice.map(\.level) == (isNamed ? [.advice] : []), "\(found)")
                #expect(advice.allSatisfy { !$0.remedy.contains("userspace") })
            }
        }
    }

    @Test("missing Kubernetes credentials are only advice: the daemon starts without them")
    func credentials() async throws {
        let yaml = yaml("\(try Endpoint.free())").replacing(
            "downstream: [{name: r, address: \"127.0.0.1:9\"}]",
            with: "kubernetes: {service: s, port: 9}")
        let none = ["KUBECONFIG": "", "HOME": "/nowhere", "KUBERNETES_SERVICE_HOST": ""]
        let folder = try ScratchFolder()
        let file = try folder.write(
            """
            current-context: c
            contexts: [{name: c, context: {cluster: k, user: u}}]
            clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
            users: [{name: u, user: {tokenFile: token}}]
            """, to: "kubeconfig")
        let pod = none.merging(["KUBERNETES_SERVICE_HOST": "192.0.2.1"]) { $1 }
        let kubeconfig = none.merging(["KUBECONFIG": file]) { $1 }
        for (environment, words) in [
            (none, "neither KUBECONFIG"), (pod, "/var/run/secrets/kubernetes.io"),
            (kubeconfig, "token"),
        ] {
            let (code, found) = try await report(yaml, environment: environment)
            let advice = found.findings.first { $0.check == "Kubernetes" }
            #expect(code == 0 && advice?.level == .advice, "\(found)")
            #expect(advice?.found.contains(words) == true)
            #expect(advice?.found.hasSuffix(": in will have no receivers") == true)
        }
        try folder.write("t", to: "token")
        let whole = try await report(yaml, environment: kubeconfig)
        #expect(whole.report.findings.first { $0.check == "Kubernetes" }?.level == .ok)
    }
}
