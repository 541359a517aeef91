// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing
import Tiers

extension DaemonTests {
    @Suite("A configuration that is mutated under load", .tags(.load))
    struct ReloadMutationTests {
        /// The listener under load, with all its settings; the rest of the file may be mutated.
        static func fixed(_ config: ConfigText) -> String {
            var config = config
            config.metricsPort = nil
            config.settings = []
            config.listeners[0].settings = [
                "workers: 1", "recv_buf_size: 8388608", "max_packet_size: 9000", "pin_cpus: true",
                "max_downstream: 64", "batch_size: 32", "share_port: false",
                "steer: source_ip",
            ]
            return config.yaml
        }

        /// The part that may be mutated: another listener, the common settings, health and metrics.
        static func rest(port: UInt16, metrics: UInt16) -> String {
            """
              - name: "other"
                bind: "127.0.0.1:\(port)"
                balance: source_ip
                downstream:
                  - name: "a"
                    address: "127.0.0.1:1"
                    weight: 3
                  - name: "b"
                    address: "127.0.0.2:2"
                settings:
                  batch_size: 16
                  workers: 2
            settings:
              max_packet_size: 1500
              pin_cpus: true
            health:
              enabled: false
              interval_secs: 5
            metrics:
              enabled: true
              bind: "127.0.0.1:\(metrics)"
              path: /metrics

            """
        }

        /// Changes a digit, which often leaves a valid file, or makes one to three errors: changes a byte, cuts out
        /// or doubles a piece, or swaps two bytes.
        static func mutated(_ text: String, _ random: inout SplitMix) -> String {
            var bytes = Array(text.utf8)
            let digits = bytes.indices.filter { (0x30...0x39).contains(bytes[$0]) }
            if Bool.random(using: &random), let at = digits.randomElement(using: &random) {
                bytes[at] = UInt8.random(in: 0x30...0x39, using: &random)
                return String(decoding: bytes, as: UTF8.self)
            }
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, at + Int.random(in: 1...20, using: &random))
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(at..<end)
                case 2: bytes.insert(contentsOf: bytes[at..<end], at: at)
                default: bytes.swapAt(at, Int.random(in: 0..<bytes.count, using: &random))
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

/// A generator that gives the same numbers for the same seed (Steele, Lea and Flood, 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

extension DaemonTests.ReloadMutationTests {
    @Test("50 times survives, loses nothing, and the valid file is applied")
    func mutations() async throws { try await mutate(50) }

    @Test("500 times survives, loses nothing, and the valid file is applied", .tags(.exhaustive))
    func manyMutations() async throws { try await mutate(500) }

    private func mutate(_ rounds: Int) async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(state: seed)
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let port = try #require(config.metricsPort)
        let fixed = Self.fixed(config)
        let rest = Self.rest(port: try Ports.free(), metrics: port)
        let good = fixed + rest
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for round in 1...rounds {
                let text = fixed + Self.mutated(rest, &random)
                // Also in place, so that half a file may be read.
                if round % 3 == 0 {
                    try daemon.folder.write(text, to: DaemonUnderTest.configName)
                } else {
                    try daemon.folder.replace(DaemonUnderTest.configName, with: text)
                }
                daemon.process.send(SIGHUP)
                try await load.pass(60)
            }
            try daemon.folder.replace(DaemonUnderTest.configName, with: good)
            daemon.process.send(SIGHUP)
            try await eventually("the valid file is active, seed \(seed)") {
                let page = try? await MetricsPage.scrape(port)
                return page?.value("udp_fanout_config_last_reload_successful") == 1
                    && page?.value("udp_fanout_downstream_weight", ["listener": "other"]) == 4
            }
        }
        outcome.expectNoLoss()
        let page = try #require(outcome.page)
        let results = ["success", "failure"].map {
            page.count("config_reloads_total", ["result": $0])
        }
        // Signals that arrive together are merged, so there may be fewer reloads than files.
        #expect(results.allSatisfy { $0 > rounds / 25 }, "seed \(seed): \(results)")
        #expect(outcome.totals["received"] == "\(outcome.delivery.sent)", "seed \(seed)")
    }
}
