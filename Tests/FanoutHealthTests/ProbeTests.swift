// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import LinuxNet
import Testing
import Tiers

@testable import FanoutControl

@Suite("A probe", .tags(.network), .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct ProbeTests {
    private static let families: [IPAddress] = [.loopback, .loopback6]

    @Test("icmp: a host that answers is alive", arguments: families)
    func icmp(address: IPAddress) async throws {
        let watch = Watch()
        let target = ProbeTarget(.icmp, Endpoint(address, port: 9))
        try watch.follow([target])
        #expect(try await watch.next(target) == .success)
    }

    @Test("udp_echo: who sends the nonce back is alive, time after time", arguments: families)
    func udpEcho(address: IPAddress) async throws {
        let (watch, responder) = (Watch(), try Responder(.echo, on: address))
        let target = ProbeTarget(.udpEcho, responder.endpoint)
        try watch.follow([target])
        #expect(try await watch.next(target, after: 2) == .success)
        #expect(Set(responder.datagrams).count == responder.datagrams.count, "a nonce came twice")
    }

    @Test("udp_echo: an answer without the nonce is none")
    func wrongNonce() async throws {
        let (watch, responder) = (Watch(), try Responder(.wrong))
        let target = ProbeTarget(.udpEcho, responder.endpoint)
        try watch.follow([target])
        #expect(try await watch.next(target) == .wrongAnswer)
    }

    @Test("udp_echo: an answer from another source is none", arguments: families)
    func otherSource(address: IPAddress) async throws {
        let (watch, responder) = (Watch(), try Responder(.otherSource, on: address))
        let target = ProbeTarget(.udpEcho, responder.endpoint)
        try watch.follow([target])
        #expect(try await watch.next(target) == .timeout)
        #expect(responder.datagrams.count >= 1)
    }

    @Test("udp_echo: who is silent is not alive")
    func silentEcho() async throws {
        let (watch, responder) = (Watch(), try Responder(.silent))
        let target = ProbeTarget(.udpEcho, responder.endpoint)
        try watch.follow([target])
        #expect(try await watch.next(target) == .timeout)
    }

    @Test("udp: who answers anything is alive, and so is who is silent")
    func udp() async throws {
        let watch = Watch()
        let responders = try [Responder(.wrong), Responder(.silent)]
        let targets = responders.map { ProbeTarget(.udp, $0.endpoint) }
        try watch.follow(targets, payload: .bytes(Array("alive?".utf8)))
        for target in targets { #expect(try await watch.next(target) == .success) }
        #expect(responders[1].datagrams.first == Array("alive?".utf8))
    }

    @Test(
        "a preset sends its request, each time another one",
        arguments: [ProbePayload.dns, .radiusStatus(secret: [1]), .sipOptions, .coapPing])
    func presets(payload: ProbePayload) async throws {
        let (watch, responder) = (Watch(), try Responder(.wrong))
        let target = ProbeTarget(.udp, responder.endpoint)
        try watch.follow([target], payload: payload)
        #expect(try await watch.next(target, after: 2) == .success)
        let sent = responder.datagrams
        #expect(Set(sent).count == sent.count && sent.count >= 2)
        #expect(Set(sent.map(\.count)).count == 1 || payload == .sipOptions)
    }

    @Test(
        "a request of a preset fails without a reply; an empty datagram does not",
        arguments: [
            ProbePayload.dns, .radiusStatus(secret: [1]), .sipOptions, .coapPing, .empty,
        ])
    func silentPresets(payload: ProbePayload) async throws {
        let (watch, responder) = (Watch(), try Responder(.silent))
        let target = ProbeTarget(.udp, responder.endpoint)
        try watch.follow([target], payload: payload)
        #expect(try await watch.next(target) == (payload == .empty ? .success : .timeout))
    }

    @Test(
        "dns: a server of the distribution answers it",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/dnsmasq"),
            "NOT TESTED: needs the package dnsmasq-base"))
    func realDNS() async throws {
        let endpoint = try Endpoint.free()
        let server = try ChildProcess(
            "/usr/sbin/dnsmasq",
            [
                "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                "--port=\(endpoint.port)", "--user=root", "--pid-file",
                "--listen-address=\(endpoint.address)", "--bind-interfaces",
            ])
        var buffer = [UInt8](repeating: 0, count: 512)
        var nonce: UInt64 = 0
        var reply: [UInt8] = []
        // Until the server has its socket, the kernel refuses.
        try await eventually("it answers") {
            nonce += 1
            guard let socket = try? Socket.asking(endpoint) else { return false }
            let question = ProbePayload.dns.message(to: endpoint, nonce: nonce)
            guard (try? socket.sendNow(question)) != nil else { return false }
            for _ in 0..<20 {
                try? await Task.sleep(for: .milliseconds(20))
                guard let received = try? socket.receiveNow(into: &buffer) else { continue }
                reply = Array(buffer[..<received.count])
                return true
            }
            return false
        }
        server.send(SIGKILL)
        // The same ID, and QR is set.
        #expect(reply.count >= 12 && reply[0] == UInt8(truncatingIfNeeded: nonce))
        #expect(reply.count > 2 && reply[2] & 0x80 != 0)
    }

    @Test(
        "a port that no socket listens on is refused, without waiting for the time to be over",
        arguments: [ProbeKind.udpEcho, .udp, .tcp], families)
    func deadPort(kind: ProbeKind, address: IPAddress) async throws {
        let watch = Watch()
        let target = ProbeTarget(kind, try Endpoint.free(on: address))
        // The answer, and not the timeout, ends it; a plan with another interval begins anew.
        try watch.follow([target], interval: .seconds(60), timeout: .seconds(60))
        try watch.follow([target], interval: .milliseconds(500), timeout: .milliseconds(500))
        #expect(try await watch.next(target) == .refused)
        #expect(watch.reports.first?.detail.contains("ECONNREFUSED") == true)
    }

    @Test("tcp: who accepts is alive", arguments: families)
    func tcp(address: IPAddress) async throws {
        let watch = Watch()
        let listening = try Socket.boundStream(on: Endpoint(address, port: 0))
        #expect(listen(listening.descriptor, 8) == 0)
        let target = ProbeTarget(.tcp, Endpoint(address, port: try listening.boundPort))
        try watch.follow([target])
        #expect(try await watch.next(target, after: 1) == .success)
    }

    @Test("who dies is noticed, and who comes back too")
    func deathAndReturn() async throws {
        let watch = Watch()
        var responder: Responder? = try Responder(.echo)
        let endpoint = try #require(responder?.endpoint)
        let target = ProbeTarget(.udpEcho, endpoint)
        try watch.follow([target])
        #expect(try await watch.next(target) == .success)
        responder?.stop()
        try await eventually("it is missed") { watch.results(of: target).last == .timeout }
        responder = nil
        try await eventually("its port is free") { watch.results(of: target).last == .refused }
        responder = try Responder(.echo, port: endpoint.port)
        try await eventually("it answers again") { watch.results(of: target).last == .success }
    }

    @Test("a probe never comes from a port that it is to avoid")
    func avoidedPorts() async throws {
        let network = try Network()
        try network.set("ipv4/ip_local_port_range", to: "40000 40009")
        try await network.run {
            let (watch, responder) = (Watch(), try Responder(.echo, port: 9000))
            let target = ProbeTarget(.udpEcho, responder.endpoint)
            // Left is one at least: the responder's second socket has one of them.
            let avoided = Set(UInt16(40000)...40007)
            try watch.follow([target], avoiding: avoided)
            #expect(try await watch.next(target, after: 4) == .success)
            #expect(avoided.isDisjoint(with: responder.sources))
            // With nothing left the probe cannot be sent, which says nothing of the receiver.
            try watch.follow([target], avoiding: Set(40000...40009))
            try await eventually("it cannot be sent") { watch.results(of: target).last == .error }
        }
    }
}
