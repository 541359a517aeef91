// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing
import Tiers

/// scripts/changes.py, which measures from the daemon's log how soon packets go to other receivers.
@Suite(
    "A change of 1 000 receivers", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct ChangeTimeTests {
    /// An unoptimised build on a busy machine takes many times as long.
    #if DEBUG
        private static let limit = 10_000
    #else
        private static let limit = 50
    #endif

    private static let script = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }.appending(path: "scripts/changes.py").path

    @Test("takes effect in every mode soon after it is detected")
    func soon() async throws {
        let process = try ChildProcess(
            Self.script, ["--daemon", Files.daemon, "--rounds", "4", "--limit", "\(Self.limit)"])
        let ending = try await process.exit(within: .seconds(150))
        let state = process.record.state
        #expect(ending == .exited(0), "\(state.output) \(state.errors)")
        let rows = state.output.filter { line in
            ["userspace ", "tc_ebpf ", "af_xdp ", "xdp_nat "].contains { line.hasPrefix($0) }
        }
        #expect(rows.count == 4, "\(state.output)")
    }
}
