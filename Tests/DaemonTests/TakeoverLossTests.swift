// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing
import Tiers

/// scripts/takeovers.py, which counts the losses of takeovers by the numbers of the publisher's datagrams.
@Suite(
    "The loss of takeovers", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TakeoverLossTests {
    /// Datagrams a second that an unoptimised daemon and publisher can handle.
    private static let rate = 5000

    private static let script = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }.appending(path: "scripts/takeovers.py").path

    @Test("is zero in userspace, tc_ebpf and xdp_nat, as the script counts it")
    func nothing() async throws {
        let process = try ChildProcess(
            Self.script,
            [
                "--daemon", Files.daemon, "--publisher", Files.product("publisher"), "--rate",
                "\(Self.rate)", "--rounds", "1",
            ])
        let ending = try await process.exit(within: .seconds(150))
        let state = process.record.state
        #expect(ending == .exited(0), "\(state.output) \(state.errors)")
        let rows = state.output.map { $0.split(separator: " ").map(String.init) }
        for mode in ["userspace", "tc_ebpf", "xdp_nat"] {
            let row = try #require(rows.first { $0.first == mode }, "\(state.output)")
            #expect(Int(row[1]).map { $0 > Self.rate } == true, "\(row)")
            #expect(row.suffix(2) == ["0", "0"], "\(row)")
        }
    }
}
