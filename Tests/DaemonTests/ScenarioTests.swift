// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing
import Tiers

/// The container scenario, run in network namespaces.
@Suite(
    "The scenario of the containers", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct ScenarioTests {
    @Test(
        "each strategy spreads 300 clients over three receivers as documented, and all get a reply"
    )
    func strategies() async throws {
        let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }
        let script = root.appending(path: "packaging/docker/scenario.sh").path
        let process = try ChildProcess(
            script, ["namespaces"], environment: ["UDP_FANOUT": Files.daemon])
        let ending = try await process.exit(within: .seconds(240))
        let state = process.record.state
        #expect(ending == .exited(0), "\(state.errors)")
        for strategy in ["roundrobin", "random", "iphash", "four_tuple"] {
            #expect(state.output.contains { $0.hasPrefix("scenario: \(strategy) ") }, "\(strategy)")
        }
        #expect(state.output.last == "scenario: all strategies spread as they promise")
    }
}
