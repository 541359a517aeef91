// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing

extension DaemonTests {
    @Suite("A configuration that cannot be used")
    struct ConfigurationErrorTests {}
}

extension DaemonTests.ConfigurationErrorTests {
    /// A file and the daemon's errors for it.
    struct Case: CustomTestStringConvertible {
        let name: String
        let yaml: String
        /// The start of each line on standard error, in order.
        let errors: [String]
        var testDescription: String { name }
    }

    static let listener = """
        listeners:
          - name: in
            bind: "127.0.0.1:PORT"
            downstream: [{name: r1, address: "127.0.0.1:9"}]

        """

    static let cases = [
        Case(name: "empty", yaml: "", errors: ["config.yaml"]),
        Case(name: "not YAML", yaml: "listeners: [", errors: ["config.yaml:2:1: this is not YAML"]),
        Case(
            name: "an unknown key", yaml: listener + "metric: {}\n",
            errors: ["config.yaml:5:1: metric: "]),
        Case(
            name: "two errors",
            yaml: listener + "settings: {workers: many}\nhealth: {enabled: 7}\n",
            errors: ["config.yaml:5:21: settings.workers: ", "config.yaml:6:19: health.enabled: "]),
    ]

    @Test(
        "is refused by run and check alike, one error a line, and nothing starts",
        arguments: cases)
    func refused(file: Case) async throws {
        let folder = try ScratchFolder()
        let port = try Ports.free()
        try folder.write(file.yaml.replacing("PORT", with: "\(port)"), to: "config.yaml")
        let run = try await DaemonUnderTest.run([], folder: folder)
        let check = try await DaemonUnderTest.run(["check"], folder: folder)
        #expect(run.code == 1 && check.code == 1)
        #expect(run.output == "" && check.output == "")

        let complaints = run.errors.filter { LogLine($0) == nil }
        #expect(complaints.count == file.errors.count, "\(run.errors)")
        for (said, wanted) in zip(complaints, file.errors) {
            #expect(said.contains(wanted), "\(said)")
        }
        #expect(check.errors == complaints)
        #expect(run.errors.compactMap { LogLine($0)?.message } == ["starting udp-fanout"])
    }

    /// A path without a readable file.
    struct Missing: CustomTestStringConvertible {
        let path: String
        let says: String
        var testDescription: String { says }
    }

    @Test(
        "that does not exist is one clear line",
        arguments: [
            Missing(path: "none.yaml", says: "none.yaml: the file does not exist"),
            Missing(path: ".", says: ".: this is a directory"),
            Missing(path: "dir/none.yaml", says: "dir/none.yaml: the file does not exist"),
            Missing(path: "a\u{1b}[31m\nb", says: "the file does not exist"),
        ])
    func missing(file: Missing) async throws {
        let folder = try ScratchFolder()
        for arguments in [["-c", file.path], ["check", "-c", file.path]] {
            let run = try await DaemonUnderTest.run(arguments, folder: folder)
            #expect(run.code == 1)
            let complaints = run.errors.filter { LogLine($0) == nil }
            #expect(complaints.count == 1, "\(run.errors)")
            #expect(complaints.first?.contains(file.says) == true, "\(run.errors)")
            #expect(!run.errors.joined().contains("\u{1b}"))
        }
    }

    @Test("of 10 MB, or with an alias bomb, is refused within seconds")
    func bombs() async throws {
        let folder = try ScratchFolder()
        try folder.write(String(repeating: "# padding\n", count: 1 << 20), to: "large.yaml")
        var bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        for level in 1...9 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ",")
            bomb += "a\(level): &a\(level) [\(aliases)]\n"
        }
        try folder.write(bomb, to: "bomb.yaml")
        for name in ["large.yaml", "bomb.yaml"] {
            let begin = ContinuousClock.now
            let run = try await DaemonUnderTest.run(["-c", name], folder: folder)
            #expect(run.code == 1)
            #expect(ContinuousClock.now - begin < .seconds(10), "\(name)")
        }
    }
}

extension DaemonTests.ConfigurationErrorTests {
    @Test("check prints the effective file, and prints the same for its own output")
    func checkIsStable() async throws {
        let folder = try ScratchFolder()
        var config = try ConfigText.simple(metrics: true)
        config.listeners[0].name = "a \"name\" with \\ and ünï"
        config.listeners[0].receivers[0].weight = 7
        config.listeners[0].settings = ["batch_size: 64", "pin_cpus: false"]
        config.listeners.append(
            ConfigText.Listener(
                name: "second", port: try Ports.free(), address: "0.0.0.0", balance: "source_ip",
                receivers: config.listeners[0].receivers))
        try folder.write(config.yaml, to: "config.yaml")
        let quiet = try await DaemonUnderTest.run(["check"], folder: folder)
        #expect(quiet.code == 0 && quiet.errors == [] && quiet.output == "")
        let first = try await DaemonUnderTest.run(["check", "--dump"], folder: folder)
        #expect(first.code == 0 && first.errors == [], "\(first.errors)")
        for part in ["batch_size: 64", "pin_cpus: false", "weight: 7", "max_packet_size: 9000"] {
            #expect(first.output.contains(part), "\(part)")
        }
        try folder.write(first.output, to: "effective.yaml")
        let second = try await DaemonUnderTest.run(
            ["check", "--dump", "-c", "effective.yaml"], folder: folder)
        #expect(second.code == 0 && second.errors == [])
        #expect(second.output == first.output)
    }

    @Test("check opens nothing: it passes a file whose ports are taken")
    func checkOpensNothing() async throws {
        let config = try ConfigText.simple(metrics: true)
        let folder = try ScratchFolder()
        try folder.write(config.yaml, to: "config.yaml")
        let udp = try HeldPort(config.listeners[0].port, SOCK_DGRAM)
        let run = try await DaemonUnderTest.run(["check"], folder: folder)
        #expect(run.code == 0 && run.errors == [])
        #expect(udp.port == config.listeners[0].port)
    }

    @Test("check prints warnings on standard error and exits 0")
    func checkWarns() async throws {
        let folder = try ScratchFolder()
        let yaml = Self.listener.replacing("PORT", with: "7")
            .replacing("\"}]", with: "\", mac: \"02:00:00:00:00:01\"}]")
        try folder.write(yaml, to: "config.yaml")
        let run = try await DaemonUnderTest.run(["check"], folder: folder)
        #expect(run.code == 0)
        #expect(run.errors.count == 1 && run.errors[0].hasPrefix("warning: config.yaml:4:"))
        #expect(run.output == "")
    }

    @Test(
        "without --config, ./config.yaml is read, then /etc/udp-fanout/config.yaml; with neither, both are named",
        arguments: [["check"], []])
    func usualPlaces(arguments: [String]) async throws {
        guard !FileManager.default.fileExists(atPath: "/etc/udp-fanout/config.yaml") else {
            Issue.record("this test needs a host without /etc/udp-fanout/config.yaml")
            return
        }
        let folder = try ScratchFolder()
        let none = try await DaemonUnderTest.run(arguments, folder: folder)
        #expect(none.code == 1)
        #expect(
            none.errors == [
                "configuration: neither ./config.yaml nor /etc/udp-fanout/config.yaml exists; write the "
                    + "file, or give its path with --config"
            ])
    }
}
