// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("Command line")
    struct UsageTests {}
}

extension CollectorTests.UsageTests {
    @Test("--help and --version end with 0, and the help of each command names its flags")
    func help() async throws {
        let version = try await CollectorUnderTest.run(["--version"])
        #expect(version.code == 0)
        #expect(version.output.first?.contains(/^\d+\.\d+\.\d+ \(BPF ABI \d+\)$/) == true)
        for (words, flags) in [
            (["--help"], ["receive", "adopt", "create", "status", "explain", "destroy"]),
            (
                ["receive", "--help"],
                [
                    "<ip> <port> <index> <count>", "--group", "--pin-root", "--key", "--seed",
                    "--quiet", "--stats-interval", "--count", "--recv-buffer", "--max-bytes",
                    "--json",
                ]
            ),
            (["create", "--help"], ["--count", "--owner", "--mode", "--key", "--seed"]),
            (["status", "--help"], ["--json", "--pin-root"]),
            (["adopt", "--help"], ["--group", "--slot", "--pid", "--port", "--fd", "--replace"]),
            (["explain", "--help"], ["<source>", "--payload", "--tcp", "--pin-root"]),
        ] {
            let run = try await CollectorUnderTest.run(words)
            #expect(run.code == 0 && run.errors == [])
            let text = run.output.joined(separator: "\n")
            for flag in flags { #expect(text.contains(flag), "\(words): \(flag)") }
        }
    }

    @Test(
        "bad usage is explained on standard error and ends with 2",
        arguments: [
            ([], "<ip>"),
            (["127.0.0.1", "9", "0"], "<count>"),
            (["localhost", "9", "0", "1"], "names are not resolved"),
            (["127.0.0.1", "0", "0", "1"], "1 to 65535"),
            (["127.0.0.1", "65536", "0", "1"], "65536"),
            (["127.0.0.1", "9", "1", "1"], "INDEX"),
            (["127.0.0.1", "9", "0", "1025"], "1 to 1024"),
            (["127.0.0.1", "9", "0", "0"], "1 to 1024"),
            (["127.0.0.1", "9", "0", "1", "--key", "best"], "four_tuple"),
            (["127.0.0.1", "9", "0", "1", "--key", "payload"], "--payload-key"),
            (["127.0.0.1", "9", "0", "1", "--payload-key", "ipfix_domain"], "--key payload"),
            (["create", "x", "--count", "1", "--payload-key", "length=21"], "1 to 20"),
            (["create", "x", "--count", "1", "--payload-key", "dns_name"], "ipfix_domain"),
            (["explain", "x", "192.0.2.1", "--payload", "0"], "hexadecimal"),
            (["create", "x", "--count", "1", "--flows", "0"], "1 to 1048576"),
            (["create", "x", "--count", "1", "--capacity", "1025"], "1 to 1024"),
            (["create", "x", "--count", "5", "--capacity", "4"], "1 to 4"),
            (["127.0.0.1", "9", "0", "1", "--count", "0"], "--count"),
            (["127.0.0.1", "9", "0", "1", "--recv-buffer", "0"], "--recv-buffer"),
            (["127.0.0.1", "9", "0", "1", "--max-bytes", "70000"], "--max-bytes"),
            (["127.0.0.1", "9", "0", "1", "--stats-interval", "0"], "--stats-interval"),
            (["127.0.0.1", "9", "0", "1", "--group", "a.b"], "'.'"),
            (["127.0.0.1", "9", "0", "1", "--pin-root", "pins"], "absolute"),
            (["create", "x"], "--count"),
            (["create", "x", "--count", "1", "--mode", "9"], "octal"),
            (["create", "x", "--count", "1", "--mode", "0777"], "octal"),
            (["create", "x", "--count", "1", "--owner", "no such user"], "no such user"),
            (["metrics", "--interval", "5"], "--textfile"),
            (["metrics", "--listen", "9100"], "address:port"),
            (["destroy"], "<name>"),
            (["status", "--stray"], "stray"),
            (["help", "bogus"], "unknown command 'bogus'"),
            (["127.0.0.1", "9", "0", "1", "--stats-interval", "-1"], "0.01 to 86400"),
        ])
    func badUsage(words: [String], says: String) async throws {
        let run = try await CollectorUnderTest.run(words)
        #expect(run.code == 2)
        #expect(run.output == [])
        #expect(run.errors.contains { $0.contains(says) }, "\(run.errors)")
    }

    @Test("a failed start exits with 1 and one line with the cause and a remedy")
    func startupErrors() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let first = try await CollectorUnderTest.inSlot(
            0, of: 2, at: endpoint, ["--pin-root", pins.path])
        let at = ["\(endpoint.address)", "\(endpoint.port)"]
        for (words, says) in [
            (
                at + ["0", "2", "--pin-root", pins.path],
                ["join slot 0", "EEXIST", "a live member"]
            ),
            (at + ["1", "2", "--pin-root", pins.path, "--seed", "1"], ["ESTALE", "seed"]),
            (at + ["0", "2", "--pin-root", pins.path + "x"], ["ENODEV", "mount -t bpf"]),
            (["192.0.2.1", "9", "0", "1", "--pin-root", pins.path], ["bind", "EADDRNOTAVAIL"]),
            (at + ["0", "5", "--pin-root", pins.path], ["join slot 0", "EEXIST"]),
            (["destroy", "nothing", "--pin-root", pins.path], ["ENOENT", "nothing"]),
            (["status", "--pin-root", pins.path + "x"], ["ENODEV"]),
        ] {
            let run = try await CollectorUnderTest.run(words)
            #expect(run.code == 1 && run.output == [], "\(words)")
            #expect(run.errors.count == 1, "\(run.errors)")
            for word in says { #expect(run.errors.joined().contains(word), "\(run.errors)") }
        }
        // None of them has changed the existing group or created another.
        let groups = try await StatusReport(pins).groups
        #expect(groups.map(\.count) == [2])
        try await first.stop()
    }

    @Test("a full disk for its output ends it with 1 and one line that says so")
    func fullDisk() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path], output: full)
        try Traffic(to: endpoint).send([65])
        #expect(try await collector.process.exit() == .exited(1))
        #expect(collector.errors.last?.contains("disk full") == true, "\(collector.errors)")
    }
}
