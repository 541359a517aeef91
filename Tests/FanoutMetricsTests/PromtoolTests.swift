// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Foundation
import Testing
import Tiers

@Suite("promtool check metrics", .tags(.network))
struct PromtoolTests {
    private static let promtool = "/usr/bin/promtool"

    @Test("promtool finds nothing to say about a full page with the worst of names")
    func fullPage() async throws {
        var nasty = DaemonSnapshot.of([
            .sample(nastyName, downstreams: 3), .sample("plain", mode: .xdpNAT, downstreams: 1),
        ])
        nasty.listeners[0].downstreams[1].name = nastyName
        nasty.listeners[0].packetsReceived = .max
        nasty.build.version = nastyName
        let result = try await Self.check(page(nasty))
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.isEmpty)
    }

    @Test("promtool finds nothing to say about a page without listeners")
    func emptyPage() async throws {
        let result = try await Self.check(page(.of([])))
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    @Test("promtool refuses a page that is wrong")
    func wrongPage() async throws {
        let result = try await Self.check("udp_fanout_x{listener=\"a\u{22}b\"} 1\n")
        #expect(result.status != 0)
    }

    private static func check(_ page: String) async throws -> (status: Int32, output: String) {
        try #require(
            FileManager.default.isExecutableFile(atPath: promtool),
            "\(promtool) is missing; install Debian's package 'prometheus'")
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("page-\(UUID().uuidString).txt")
        try Data(page.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await blocking {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: promtool)
            process.arguments = ["check", "metrics"]
            process.standardInput = try FileHandle(forReadingFrom: file)
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let text = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: text, as: UTF8.self))
        }
    }
}
