// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    /// A name with receivers of both families; when a new process starts, only one family is answered.
    @Suite("Receivers by DNS over a restart")
    struct DiscoveryTestsFamilies {}
}

extension DaemonTests.DiscoveryTestsFamilies {
    @Test(
        "a failed lookup keeps the receivers that the old process has found",
        arguments: [false, true])
    func kept(byTakeover: Bool) async throws {
        let dns = try FakeDNS()
        let (port, receivers) = (try Ports.free(), try Ports.free())
        let sinks = try [Sink(port: receivers), Sink(on: .loopback6, port: receivers)]
        let both: [FakeDNS.Record] = [
            .address("r.example", "127.0.0.1"), .address("r.example", "::1"),
        ]
        dns.set(both)
        let config = """
            listeners:
              - name: in
                bind: "127.0.0.1:\(port)"
                dns: {name: r.example, port: \(receivers), server: "\(dns.endpoint)"}
            settings: {workers: 1}

            """
        let old = try DaemonUnderTest(config)
        try await old.isRunning()
        try await eventually("both are remembered") {
            let kept = try? String(contentsOfFile: old.controlPath + ".receivers", encoding: .utf8)
            return kept?.contains("127.0.0.1") == true && kept?.contains("::1") == true
        }
        dns.change {
            $0.records = [both[1]]
            $0.fails = { $1 == 1 }
        }
        if !byTakeover {
            old.process.send(SIGKILL)
            _ = try await old.process.exit()
        }
        try await DaemonUnderTest.running(
            config, byTakeover ? ["--takeover"] : [], folder: old.folder
        ) { daemon in
            try await daemon.logs("dns discovery: no answer")
            let traffic = try Traffic(to: Endpoint(.loopback, port: port))
            for number in 0..<100 { traffic.send([UInt8(number)]) }
            try await eventually("all arrive") { sinks.map(\.arrivals).reduce(0, +) == 100 }
            #expect(sinks.map(\.arrivals) == [50, 50])
        }
        await old.process.end()
    }

    @Test(
        "a name server that is added to resolv.conf later is asked",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    func resolvConf() async throws {
        let dns = try FakeDNS(host: "127.0.0.1", port: 53)
        dns.set([.address("r.example", "127.0.0.1")])
        let sink = try Sink(port: try Ports.free())
        let port = try Ports.free()
        let folder = try ScratchFolder()
        // No name server has this address.
        let resolvConf = try folder.write("nameserver 127.0.0.9\n", to: "resolv.conf")
        let config = """
            listeners:
              - name: in
                bind: "127.0.0.1:\(port)"
                dns: {name: r.example, port: \(sink.endpoint.port)}
            settings: {workers: 1}

            """
        let mount = "mount --bind \(resolvConf) /etc/resolv.conf && exec \"$@\""
        let daemon = try DaemonUnderTest(
            config, folder: folder,
            prefix: ["/usr/bin/unshare", "--mount", "sh", "-c", mount, "sh"])
        let line = try await daemon.logs("dns discovery: no answer")
        #expect(line.fields["code"] == "connection")
        // In place, because the mount follows the file rather than its name.
        try "nameserver 127.0.0.1\n".write(
            toFile: resolvConf, atomically: false, encoding: .utf8)
        try await daemon.logs("dns discovery: the servers answer again")
        try await daemon.isRunning()
        let traffic = try Traffic(to: Endpoint(.loopback, port: port))
        // The listener has the receiver a moment after the log line.
        try await eventually("a datagram arrives") {
            traffic.send([0])
            return sink.arrivals > 0
        }
        // A silent server does not delay the end.
        dns.change { $0.isSilent = true }
        let asked = dns.questions.count
        try await eventually("it is asked again") { dns.questions.count > asked }
        let begin = ContinuousClock.now
        try await daemon.stop()
        #expect(ContinuousClock.now - begin < .seconds(4))
    }
}
