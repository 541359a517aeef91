// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("A changed configuration file")
    struct ReloadFileTests {
        /// A file, and the same with another listener: a visible reload.
        static func pair() throws -> (before: ConfigText, after: ConfigText) {
            let before = try ConfigText.simple(metrics: true)
            var after = before
            after.listeners.append(
                ConfigText.Listener(
                    name: "new", port: try Ports.free(), receivers: before.listeners[0].receivers))
            return (before, after)
        }
    }
}

extension DaemonTests.ReloadFileTests {
    /// A way to change a file.
    enum Way: String, CaseIterable {
        case rename, inPlace = "writing in place", deleted = "deleting and making it anew"
    }

    @Test("is applied automatically, however it was changed", arguments: Way.allCases)
    func noticed(way: Way) async throws {
        let (before, after) = try Self.pair()
        try await DaemonUnderTest.running(before.yaml) { daemon in
            let name = DaemonUnderTest.configName
            switch way {
            case .rename: try daemon.folder.replace(name, with: after.yaml)
            case .inPlace: try daemon.folder.write(after.yaml, to: name)
            case .deleted:
                unlink(daemon.folder.path(name))
                // The watch polls at least twice while the file is missing.
                try await Task.sleep(for: .milliseconds(700))
                try daemon.folder.write(after.yaml, to: name)
            }
            let line = try await daemon.logs(DaemonUnderTest.reloaded)
            #expect(line.level == "info" && line.fields == ["added": "new"])
            let served = Set(after.listeners.map(\.port) + [try #require(after.metricsPort)])
            #expect(try await SocketTable.ports(of: daemon.pid) == served)
            try await daemon.stop()
            #expect(daemon.log.count { $0.level == "error" } == 0)
            #expect(daemon.times(DaemonUnderTest.reloaded) == 1)
        }
    }

    @Test("is applied when a symbolic link in its path is replaced, as for a Kubernetes ConfigMap")
    func configMap() async throws {
        let (before, after) = try Self.pair()
        let folder = try ScratchFolder()
        for (name, config) in [("..1", before), ("..2", after)] {
            mkdir(folder.path(name), 0o755)
            try folder.write(config.yaml, to: "\(name)/config.yaml")
        }
        symlink("..1", folder.path("..data"))
        symlink("..data/config.yaml", folder.path("config.yaml"))
        let daemon = try DaemonUnderTest(nil, folder: folder)
        try await daemon.isRunning()
        symlink("..2", folder.path("..data_tmp"))
        #expect(rename(folder.path("..data_tmp"), folder.path("..data")) == 0)
        try await daemon.logs(DaemonUnderTest.reloaded)
        let served = Set(after.listeners.map(\.port) + [try #require(after.metricsPort)])
        #expect(try await SocketTable.ports(of: daemon.pid) == served)
        try await daemon.stop()
    }

    @Test("is applied on SIGHUP, once")
    func hangUp() async throws {
        let (before, after) = try Self.pair()
        try await DaemonUnderTest.running(before.yaml) { daemon in
            try daemon.folder.replace(DaemonUnderTest.configName, with: after.yaml)
            daemon.process.send(SIGHUP)
            try await daemon.logs(DaemonUnderTest.reloaded)
            // Long enough for the watch to notice the file too.
            try await Task.sleep(for: .milliseconds(900))
            try await daemon.stop()
            #expect(daemon.times("received SIGHUP") == 1)
            #expect(daemon.times(DaemonUnderTest.reloaded) == 1)
        }
    }

    @Test("that was written while the daemon started is not missed")
    func changedDuringStart() async throws {
        var (before, after) = try Self.pair()
        // Many sockets take long enough to open that the file changes meanwhile.
        before.listeners[0].receivers = (0..<20).map {
            ConfigText.Receiver(name: "r\($0)", port: UInt16(1000 + $0))
        }
        for number in 0..<40 {
            var more = before.listeners[0]
            more.name = "more \(number)"
            more.port = try Ports.free()
            before.listeners.append(more)
        }
        let daemon = try DaemonUnderTest(before.yaml)
        try await daemon.logs("configuration loaded")
        try daemon.folder.replace(DaemonUnderTest.configName, with: after.yaml)
        try await daemon.logs(DaemonUnderTest.reloaded)
        try await daemon.stop()
    }

    @Test("that is invalid changes nothing and is one log line; the next valid one is applied")
    func badThenGood() async throws {
        let (before, after) = try Self.pair()
        let port = try #require(before.metricsPort)
        let gauge = "udp_fanout_config_last_reload_successful"
        try await DaemonUnderTest.running(before.yaml) { daemon in
            let first = try await MetricsPage.scrape(port)
            #expect(first.value(gauge) == 1)
            let ports = try await SocketTable.ports(of: daemon.pid)

            // Half of it, as an editor that writes in place may leave it.
            let half = String(after.yaml.prefix(after.yaml.count - 40))
            try daemon.folder.write(half, to: DaemonUnderTest.configName)
            let line = try await daemon.logs(DaemonUnderTest.notReloaded)
            #expect(line.level == "error" && line.fields["error"]?.contains("config.yaml:") == true)
            let bad = try await MetricsPage.scrape(port)
            #expect(bad.value(gauge) == 0)
            #expect(bad.value("udp_fanout_config_reloads_total", ["result": "failure"]) == 1)
            let since = "udp_fanout_config_last_reload_success_timestamp_seconds"
            #expect(bad.value(since) == first.value(since))
            #expect(try await SocketTable.ports(of: daemon.pid) == ports)
            // The watch polls four times a second, and logs the same invalid file once.
            try await Task.sleep(for: .milliseconds(900))
            #expect(daemon.log.count { $0.level == "error" } == 1)

            try daemon.folder.write(after.yaml, to: DaemonUnderTest.configName)
            try await daemon.logs(DaemonUnderTest.reloaded)
            let good = try await MetricsPage.scrape(port)
            #expect(good.value(gauge) == 1)
            #expect(good.value("udp_fanout_config_reloads_total", ["result": "success"]) == 2)
            #expect(try #require(good.value(since)) > (try #require(first.value(since))))
            try await daemon.stop()
        }
    }

    @Test("that is missing, unreadable or a folder on SIGHUP keeps the active configuration")
    func missing() async throws {
        let config = try ConfigText.simple()
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let path = daemon.folder.path(DaemonUnderTest.configName)
            unlink(path)
            daemon.process.send(SIGHUP)
            var line = try await daemon.logs(DaemonUnderTest.notReloaded)
            #expect(line.fields["error"]?.contains("the file does not exist") == true)
            mkdir(path, 0o755)
            daemon.process.send(SIGHUP)
            line = try await daemon.logs(DaemonUnderTest.notReloaded, times: 2)
            #expect(try await SocketTable.ports(of: daemon.pid) == [config.listeners[0].port])
            try await daemon.stop()
        }
    }

    @Test("with several errors or a hostile name is still one log line")
    func oneLine() async throws {
        let config = try ConfigText.simple()
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let bad = config.yaml + "x: 1\n\"y\\u001b[31m\\n\": 2\nhealth: {enabled: 7}\n"
            try daemon.folder.replace(DaemonUnderTest.configName, with: bad)
            let error = try await daemon.logs(DaemonUnderTest.notReloaded).fields["error"] ?? ""
            #expect(error.contains(": x: ") && error.contains("health.enabled"), "\(error)")
            try await daemon.stop()
            let lines = daemon.process.record.state.errors
            #expect(lines.allSatisfy { LogLine($0) != nil && !$0.contains("\u{1b}") }, "\(lines)")
        }
    }

    @Test("that becomes a pipe is refused at once, and is read again once it is a file")
    func pipe() async throws {
        let (before, after) = try Self.pair()
        try await DaemonUnderTest.running(before.yaml) { daemon in
            let path = daemon.folder.path(DaemonUnderTest.configName)
            unlink(path)
            #expect(mkfifo(path, 0o600) == 0)
            let line = try await daemon.logs(DaemonUnderTest.notReloaded)
            #expect(line.fields["error"]?.contains("this is not a regular file") == true)
            let asked = try await DaemonUnderTest.run(["reload"], folder: daemon.folder)
            #expect(asked.code == 1)
            try daemon.folder.replace(DaemonUnderTest.configName, with: after.yaml)
            try await daemon.logs(DaemonUnderTest.reloaded)
        }
    }
}
