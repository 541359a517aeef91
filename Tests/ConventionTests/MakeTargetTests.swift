// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// Make targets that take too long to run here: that they exist, and what they would run.
@Suite("Make targets", .tags(.network))
struct MakeTargetTests {
    @Test(
        "make runs what its help lists",
        arguments: [
            ("help", "list all targets"), ("test-kernels", "scripts/test-kernels.sh"),
            ("test-browser", "scripts/test-browser.py"), ("run", "udp-fanout"),
            ("bench", "--daemon .build/release/udp-fanout"), ("lab", "scripts/lab.sh"),
            ("soak", "scripts/churn.py"), ("fuzz", "scripts/fuzz.sh"),
            ("pictures", "scripts/pictures.py"),
            ("docs", "scripts/docs.py .build/debug .build/docs"),
        ])
    func word(name: String, runs: String) throws {
        let help = try Command.run("make", ["help"], in: SourceTree.root)
        #expect(help.output.split(separator: "\n").contains { $0.hasPrefix("\(name) ") }, "\(name)")
        let plan = try Command.run(
            "make", ["--dry-run", "SETUP=no", "ARGS=6.1", name], in: SourceTree.root)
        #expect(plan.status == 0, "\(plan.errors)")
        #expect((help.output + plan.output).contains(runs), "\(plan.output)")
    }

    @Test("the workflows use only existing targets")
    func workflows() throws {
        let help = try Command.run("make", ["help"], in: SourceTree.root).output
        let targets = Set(help.split(separator: "\n").compactMap { $0.split(separator: " ").first })
        let folder = SourceTree.root.appending(path: ".github/workflows")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.count >= 2)
        for file in files {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            let called = text.matches(of: /run: make (\S+)/).map(\.output.1)
            #expect(!called.isEmpty, "\(file)")
            #expect(called.filter { !targets.contains($0) } == [], "\(file)")
        }
    }
}
