// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

/// Words of make that take too long to run here: that they are there, and what they would run.
@Suite("Words of make", .tags(.network))
struct MakeTargetTests {
    @Test(
        "does what its help says",
        arguments: [
            ("help", "list all targets"), ("test-kernels", "scripts/test-kernels.sh"),
            ("test-browser", "scripts/test-browser.py"), ("run", "udp-fanout"),
            ("bench", "--daemon .build/release/udp-fanout"), ("lab", "scripts/lab.sh"),
            ("soak", "scripts/churn.py"), ("fuzz", "scripts/fuzz.sh"),
        ])
    func word(name: String, runs: String) throws {
        let help = try Command.run("make", ["help"], in: SourceTree.root)
        #expect(help.output.split(separator: "\n").contains { $0.hasPrefix("\(name) ") }, "\(name)")
        let plan = try Command.run(
            "make", ["--dry-run", "SETUP=no", "ARGS=6.1", name], in: SourceTree.root)
        #expect(plan.status == 0, "\(plan.errors)")
        #expect((help.output + plan.output).contains(runs), "\(plan.output)")
    }
}
