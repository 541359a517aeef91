// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

@Suite("A tidy tree", .tags(.network))
struct ConventionTests {
    /// One rule, and the files that prove that it can fail.
    struct Rule: CustomTestStringConvertible {
        let says: String
        let check: @Sendable (SourceFile) -> [Finding]
        let bad: [SourceFile]
        let good: SourceFile

        var testDescription: String { says }
    }

    @Test("holds to every rule", arguments: rules)
    func tree(rule: Rule) throws {
        let findings = try SourceTree.sources().flatMap(rule.check)
        #expect(findings.isEmpty, "\(rule.says): \(findings.report)")
    }

    @Test("has rules that find a breach and pass a good file", arguments: rules)
    func ruleCanFail(rule: Rule) {
        for file in rule.bad {
            #expect(rule.check(file).count == 1, "\(rule.says): \(file.path): \(file.text)")
        }
        #expect(rule.check(rule.good) == [])
    }

    @Test("is read completely: Swift, C, headers, scripts and the manifest")
    func scanSeesEveryKind() throws {
        let sources = try SourceTree.sources()
        for path in [
            "Package.swift", ".ci/run", "bpf/include/lb/limits.h", "bpf/embed.sh",
            "scripts/setup.sh", "Benchmarks/bench/Main.swift",
            "Tests/ConventionTests/ConventionTests.swift",
        ] {
            #expect(sources.contains { $0.path == path }, "\(path)")
        }
        #expect(sources.contains { $0.folder == "Sources" && $0.kind == "c" })
        #expect(!sources.contains { $0.path.contains(".build/") })
    }

    @Test("has pages that name their licence, except DocC pages, which begin with their title")
    func pages() throws {
        let pages = try MarkdownPage.all().filter { !$0.path.contains(".docc/") }
        #expect(pages.count > 40)
        let bare = pages.filter { page in
            !page.prose.prefix(2).contains {
                $0.text == "<!-- SPDX-License-Identifier: Apache-2.0 -->"
            }
        }
        #expect(bare.map(\.path) == [])
    }

    @Test("has no build products in git")
    func trackedFiles() throws {
        let tracked = try #require(
            try SourceTree.tracked(), "this test needs a git checkout, not an unpacked archive")
        #expect(tracked.contains("Package.swift"))
        #expect(tracked.filter(Conventions.built) == [])
    }

    @Test(
        "knows a built file by its path",
        arguments: [
            ".build/debug.yaml", "bpf/a.bpf.o", "lib/libreuseportlb.so.1.0", "configure",
            "Fuzz/config/.build/x", "Makefile.in", "autom4te.cache/requests",
        ])
    func builtFiles(path: String) {
        #expect(Conventions.built(path))
    }

    @Test(
        "knows a source by its path",
        arguments: ["configure.ac", "Makefile.am", "bpf/a.bpf.c", "bpf/include/lb/limits.h"])
    func sourceFiles(path: String) {
        #expect(!Conventions.built(path))
    }
}

extension ConventionTests {
    static let rules: [Rule] = [
        Rule(
            says: "a file names its licence",
            check: Conventions.licence,
            bad: [
                file("Sources/A/A.swift", "import A\n"),
                file("Sources/CNet/CNet.h", ""),
                file("bpf/a.h", "/* SPDX-License-Identifier: Apache-2.0 */\n"),
                file("scripts/a.sh", "#!/bin/sh\n\n# SPDX-License-Identifier: Apache-2.0\n"),
            ],
            good: file("scripts/a.sh", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")),
        Rule(
            says: "a file's name describes its content",
            check: Conventions.emptyName,
            bad: ["TableManager", "SocketHelpers", "NetUtils", "Common", "Misc+More"]
                .map { file("Sources/A/\($0).swift", "") },
            good: file("Sources/Common/Turns.swift", "")),
        Rule(
            says: "no comment postpones work",
            check: Conventions.leftovers,
            bad: ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
                .map { file("Sources/A/A.swift", "let a = 1\n// \($0): later\n") },
            good: file("Sources/A/A.swift", "// hacking a todo list\n")),
        Rule(
            says: "unsafe code is in edges or workers, or gives its reason",
            check: Conventions.unsafeCode,
            bad: ["let a = unsafe b", "nonisolated(unsafe) var a = 1", "@unsafe func a() {}"]
                .map { file("Sources/FanoutMetrics/A.swift", $0) },
            good: file("Sources/FanoutMetrics/A.swift", "let a = \"unsafe\" // unsafe is a word")),
        Rule(
            says: "a reason makes unsafe code pass",
            check: Conventions.unsafeCode,
            bad: [file("Sources/FanoutCore/A.swift", "// SAFE\nunsafe a()")],
            good: file("Sources/FanoutCore/A.swift", "// SAFETY: a is pinned\nunsafe a()")),
        Rule(
            says: "edges and workers are trusted",
            check: Conventions.unsafeCode,
            bad: [file("Sources/UserspacePlane/UserspacePlane.swift", "unsafe a()")],
            good: file("Sources/UserspacePlane/UserspaceWorker.swift", "unsafe a()")),
        Rule(
            says: "the time of day is used for timestamps only",
            check: Conventions.timeOfDay,
            bad: ["WallClock.now - limit", "clock_gettime(CLOCK_REALTIME, &a)", "Date()"]
                .map { file("Sources/FanoutControl/A.swift", $0) },
            good: file("Sources/udp-fanout/Log/LineLogHandler.swift", "WallClock.now")),
        Rule(
            says: "no file names a folder of its author's machine",
            check: Conventions.machinePath,
            bad: ["home", "root", "tmp"].map {
                file("Sources/A/A.swift", "let a = \"/\($0)/me\"")
            },
            good: file("Sources/A/A.swift", "let a = \"/proc/self\" // a/home/b, /metrics")),
    ]

    private static func file(_ path: String, _ text: String) -> SourceFile {
        SourceFile(path: path, text: text)
    }
}
