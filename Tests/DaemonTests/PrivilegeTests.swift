// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("Privileges", .enabled(if: Privilege.isRoot))
    struct PrivilegeTests {}
}

extension DaemonTests.PrivilegeTests {
    /// The capability sets of each thread by name, from /proc/PID/task/TID/status.
    static func sets(of process: pid_t) throws -> [[String: UInt64]] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").map { task in
            let status = try String(
                contentsOfFile: "/proc/\(process)/task/\(task)/status", encoding: .utf8)
            return Dictionary(
                uniqueKeysWithValues: status.split(separator: "\n").compactMap { line in
                    guard line.hasPrefix("Cap") else { return nil }
                    let parts = line.split(separator: ":")
                    let value = parts[1].trimmingCharacters(in: .whitespaces)
                    return UInt64(value, radix: 16).map { (String(parts[0]), $0) }
                })
        }
    }

    private func bits(_ numbers: Int...) -> UInt64 { numbers.reduce(0) { $0 | 1 << UInt64($1) } }

    @Test("in userspace mode every thread releases all of them once the daemon runs")
    func userspace() async throws {
        var config = try ConfigText.simple(metrics: true)
        config.settings = ["workers: 1"]
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let threads = try Self.sets(of: daemon.pid)
            #expect(threads.count > 2)
            for thread in threads {
                for name in ["CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd"] {
                    #expect(thread[name] == 0, "\(name)")
                }
            }
            let line = daemon.log.first { $0.message.hasPrefix("unneeded capabilities") }
            #expect(line?.fields["kept"] == "none")
        }
    }

    @Test("a reload that needs a released capability advises a restart, not running as root")
    func released() async throws {
        var config = try ConfigText.simple()
        config.settings = ["workers: 1"]
        try await DaemonUnderTest.running(config.yaml) { daemon in
            config.listeners[0].more = ["preserve_source: true"]
            try daemon.folder.replace(DaemonUnderTest.configName, with: config.yaml)
            let error = try await daemon.logs(DaemonUnderTest.notReloaded).fields["error"]
            #expect(error?.contains("CAP_NET_RAW: released after the start") == true)
            #expect(error?.contains("run as root") == false, "\(error ?? "")")
            #expect(error?.contains("udp-fanout --takeover") == true)
        }
    }

    @Test("the capabilities that a reload of this configuration needs are kept, and it works")
    func kept() async throws {
        let sink = try Sink()
        var config = try ConfigText.simple(receivers: [sink.endpoint.port])
        config.settings = ["workers: 1"]
        config.listeners[0].more = ["preserve_source: true"]
        try await DaemonUnderTest.running(config.yaml) { daemon in
            // CAP_NET_RAW is number 13 (linux/capability.h).
            for thread in try Self.sets(of: daemon.pid) { #expect(thread["CapPrm"] == bits(13)) }
            let other = try Sink()
            config.listeners[0].receivers[0].port = other.endpoint.port
            try await daemon.reload(config.yaml)
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            traffic.send([1])
            try await eventually("the new receiver has it") { other.arrivals == 1 }
            for thread in try Self.sets(of: daemon.pid) { #expect(thread["CapPrm"] == bits(13)) }
        }
    }

    @Test("settings.keep_capabilities keeps capabilities for a reload that needs them")
    func keptByName() async throws {
        let sink = try Sink()
        var config = try ConfigText.simple(receivers: [sink.endpoint.port])
        config.settings = ["workers: 1", "keep_capabilities: [net_raw, net_bind_service]"]
        try await DaemonUnderTest.running(config.yaml) { daemon in
            for thread in try Self.sets(of: daemon.pid) {
                #expect(thread["CapPrm"] == bits(10, 13))
            }
            config.listeners[0].more = ["preserve_source: true"]
            try await daemon.reload(config.yaml)
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            traffic.send([1])
            try await eventually("the receiver has it") { sink.arrivals == 1 }
        }
    }

    @Test("a reload that keeps a released capability logs a warning")
    func keptTooLate() async throws {
        var config = try ConfigText.simple()
        config.settings = ["workers: 1"]
        try await DaemonUnderTest.running(config.yaml) { daemon in
            config.settings.append("keep_capabilities: [net_raw]")
            try await daemon.reload(config.yaml)
            #expect(daemon.log.contains { $0.message.hasPrefix("CAP_NET_RAW: released") })
        }
    }

    /// The command prefix with the capabilities that the drop-in of the userspace unit grants.
    private static func prefix() throws -> [String] {
        let dropIn = try Files.source("packaging/systemd/capabilities.conf").split(separator: "\n")
        let granted = try #require(dropIn.first { $0.hasPrefix("CapabilityBoundingSet=") })
        #expect(dropIn.contains("AmbientCapabilities=" + granted.drop { $0 != "=" }.dropFirst()))
        #expect(dropIn.contains("PrivateUsers=no"))
        let names = granted.drop { $0 != "=" }.dropFirst().split(separator: " ")
        let set = ["-all"] + names.map { "+" + $0.dropFirst("CAP_".count).lowercased() }
        return [
            "/usr/bin/setpriv", "--no-new-privs", "--bounding-set=\(set.joined(separator: ","))",
            "--inh-caps=-all",
        ]
    }

    @Test("the drop-in of the userspace unit suffices for a port below 1024 and preserve_source")
    func dropIn() async throws {
        let sink = try Sink()
        var config = try ConfigText.simple(receivers: [sink.endpoint.port])
        config.settings = ["workers: 1"]
        config.listeners[0].more = ["preserve_source: true"]
        config.listeners[0].port = 514
        let yaml = config.yaml
        let daemon = try DaemonUnderTest(yaml, prefix: Self.prefix())
        try await daemon.isRunning()
        let traffic = try Traffic(to: Endpoint(.loopback, port: 514))
        traffic.send([1])
        try await eventually("the receiver has it") { sink.arrivals == 1 }
        for thread in try Self.sets(of: daemon.pid) { #expect(thread["CapPrm"] == bits(10, 13)) }
        try await daemon.stop()
    }
}
