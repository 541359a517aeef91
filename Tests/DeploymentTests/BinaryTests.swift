// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing
import Tiers

@Suite("The programs", .tags(.network))
struct BinaryTests {
    /// The shared libraries that a program of this build names.
    private func libraries(of program: String) async throws -> [String] {
        let process = try ChildProcess("readelf", ["--dynamic", "--wide", program])
        try #require(try await process.exit() == .exited(0))
        let lines = process.record.state.output.filter { $0.contains("(NEEDED)") }
        return lines.compactMap { line in
            line.split(separator: "[").last?.split(separator: "]").first.map(String.init)
        }
    }

    /// Full Foundation brings 34 MB of ICU data into a static program. `scripts/check-size.sh` measures the release.
    @Test(
        "link FoundationEssentials at most, and libyaml statically",
        arguments: ["udp-fanout", "collector", "publisher"])
    func foundation(program: String) async throws {
        let found = try await libraries(of: Files.products.appending(path: program).path)
        #expect(found.contains { $0.hasPrefix("libswiftCore") }, "\(found)")
        let refused = [
            "libFoundation.so", "libFoundationInternationalization.so", "lib_FoundationICU.so",
        ]
        #expect(found.filter { name in refused.contains(name) || name.hasPrefix("libyaml") } == [])
    }
}
