// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing

extension DaemonTests {
    /// The guide's quick smoke test (section 6.1), verbatim.
    @Suite("The guide's smoke test")
    struct SmokeTests {
        static let config = """
            listeners:
              - name: test-fanout
                bind: "127.0.0.1:19000"
                mode: userspace
                downstream:
                  - name: sink-1
                    address: "127.0.0.1:19001"
                  - name: sink-2
                    address: "127.0.0.1:19002"
                  - name: sink-3
                    address: "127.0.0.1:19003"
                settings:
                  workers: 1
            metrics:
              enabled: true
              bind: "127.0.0.1:19090"
              path: /metrics

            """

        static func sink(_ port: Int) -> String {
            """

            import socket
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(('127.0.0.1', \(port)))
            s.settimeout(10)
            for i in range(10):
                data, _ = s.recvfrom(4096)
                print(f'sink:\(port) #{i+1}: {data.decode()}')

            """
        }

        /// nc(1) with -w0 exits at once when its input has not arrived yet, on a busy machine about one time in ten.
        /// This one waits for its input first.
        static let patientNetcat = """
            nc() { local line; IFS= read -r line; command nc "$@" <<< "$line"; }

            """

        static let packets = """
            for i in $(seq 1 10); do
              echo "test-packet-$i" | nc -u -w0 127.0.0.1 19000
            done
            """
    }
}

extension DaemonTests.SmokeTests {
    @Test("ten packets reach three sinks, each packet exactly one, and the metrics count them")
    func smoke() async throws {
        for port in [19000, 19001, 19002, 19003, 19090] as [UInt16] {
            let holders = try SocketTable.holders(of: port)
            try #require(holders == [], "the guide's port \(port) is in use by \(holders)")
        }
        // Shows the lines before the sinks' ten seconds are over.
        let unbuffered = ["PYTHONUNBUFFERED": "1"]
        let sinks = try [19001, 19002, 19003].map {
            try ChildProcess("python3", ["-c", Self.sink($0)], environment: unbuffered)
        }
        try await eventually("the sinks are bound") {
            try [19001, 19002, 19003].allSatisfy(SocketTable.serves)
        }
        try await DaemonUnderTest.running(Self.config, ["--log-level", "debug"]) { daemon in
            #expect(try await SocketTable.ports(of: daemon.pid) == [19000, 19090])
            let sender = try ChildProcess("bash", ["-c", Self.patientNetcat + Self.packets])
            #expect(try await sender.exit() == .exited(0))

            let lines = { sinks.flatMap { $0.record.state.output }.filter { $0 != "" } }
            // If fewer arrive, the expectations below fail and show the numbers.
            try? await eventually("ten packets arrive") { lines().count >= 10 }
            let curl = try ChildProcess("curl", ["-s", "http://127.0.0.1:19090/metrics"])
            #expect(try await curl.exit() == .exited(0))
            let page = try MetricsPage(
                curl.record.state.output.map { $0 + "\n" }.joined())
            let labels = ["listener": "test-fanout", "mode": "userspace"]
            #expect(page.count("packets_received_total", labels) == 10)
            #expect(page.count("packets_forwarded_total", labels) == 10)
            #expect(page.count("packets_dropped_total", labels) == 0)

            try await daemon.stop()
            let packets = lines().compactMap { $0.split(separator: " ").last.map(String.init) }
            #expect(packets.sorted() == (1...10).map { "test-packet-\($0)" }.sorted())
            let shares = sinks.map { $0.record.state.output.count { $0.hasPrefix("sink:") } }
            #expect(shares.sorted() == [3, 3, 4])
        }
        for sink in sinks { await sink.end() }
    }
}
