// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// docs/adding-a-balance.md, carried out on a copy of the files that it changes.
@Suite("The worked example", .tags(.network))
struct WorkedExampleTests {
    /// A step of the page: a block of code and where it goes.
    struct Step {
        enum Place { case new, below(String), above(String), inPlaceOf(String) }
        let path: String
        let place: Place
        let text: String

        init?(_ block: MarkdownPage.Block) {
            guard
                let match = block.lead.wholeMatch(
                    of: /`([^`]+)`, (new|below|above|in place of)(?: `{1,2}(.+?)`{1,2})?:/)
            else { return nil }
            let anchor = match.output.3.map { String($0) } ?? ""
            path = String(match.output.1)
            text = block.text
            switch match.output.2 {
            case "below": place = .below(anchor)
            case "above": place = .above(anchor)
            case "in place of": place = .inPlaceOf(anchor)
            default: place = .new
            }
        }

        /// - Throws: when its anchor line does not occur exactly once.
        func carryOut(in folder: URL) throws {
            let file = folder.appending(path: path)
            switch place {
            case .new:
                #expect(!FileManager.default.fileExists(atPath: file.path), "\(path) is there")
                try Data(text.utf8).write(to: file)
            case .below(let anchor): try replace(anchor, by: anchor + "\n" + text, in: file)
            case .above(let anchor): try replace(anchor, by: text + anchor + "\n", in: file)
            case .inPlaceOf(let anchor): try replace(anchor, by: text, in: file)
            }
        }

        private func replace(_ anchor: String, by lines: String, in file: URL) throws {
            let whole = try String(contentsOf: file, encoding: .utf8)
            let parts = whole.components(separatedBy: "\n\(anchor)\n")
            try #require(parts.count == 2, "\(path) has \(parts.count - 1) lines '\(anchor)'")
            try Data((parts[0] + "\n" + lines + parts[1]).utf8).write(to: file)
        }
    }

    private static let copied = [
        "Sources/FanoutCore", "bpf/include", "Tests/FanoutCoreTests", "Tests/GoldenVectors",
        "Tests/Tiers", "README.md", "config.example.yaml",
    ]

    private static func copy() throws -> URL {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "example-\(UUID().uuidString)")
        for path in copied {
            let target = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: SourceTree.root.appending(path: path), to: target)
        }
        return folder
    }

    private static func swiftFiles(_ path: String, in folder: URL) -> [String] {
        let walk = FileManager.default.enumerator(atPath: folder.appending(path: path).path)
        return (walk?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".swift") }
            .map { "\(path)/\($0)" }.sorted()
    }

    /// Compiles a module with the settings of Package.swift.
    private func compile(
        _ module: String, _ files: [String], in folder: URL, _ more: [String] = []
    ) throws -> Command {
        try Command.run(
            "swiftc",
            files + [
                "-module-name", module, "-swift-version", "6", "-I", ".", "-I", "bpf/include",
                "-enable-upcoming-feature", "ExistentialAny", "-Onone", "-wmo",
            ] + more, in: folder)
    }

    private static let strict = [
        "-emit-module", "-emit-module-path", "FanoutCore.swiftmodule", "-emit-library", "-static",
        "-parse-as-library", "-strict-memory-safety", "-warnings-as-errors",
        "-enable-upcoming-feature", "InternalImportsByDefault",
        "-enable-upcoming-feature", "MemberImportVisibility", "-o", "libFanoutCore.a",
    ]

    @Test("its steps produce a balance that compiles and passes its test")
    func steps() throws {
        let page = try MarkdownPage.page("docs/adding-a-balance.md")
        let steps = page.blocks.compactMap(Step.init)
        #expect(steps.count == page.blocks.count, "each block of the page must be a step")
        let folder = try Self.copy()
        defer { try? FileManager.default.removeItem(at: folder) }
        let core = { Self.swiftFiles("Sources/FanoutCore", in: folder) }

        // After the first step alone the compiler reports what is missing, and where.
        try steps[0].carryOut(in: folder)
        let lacking = try compile(
            "FanoutCore", core(), in: folder, ["-typecheck", "-parse-as-library"])
        let complaints = lacking.errors.components(separatedBy: "\n")
            .filter { $0.contains(".swift:") && $0.contains("error: switch must be exhaustive") }
        #expect(complaints.count >= 2 && complaints.allSatisfy { $0.contains("Balance.swift") })

        for step in steps.dropFirst() { try step.carryOut(in: folder) }
        let library = try compile("FanoutCore", core(), in: folder, Self.strict)
        try #require(library.status == 0, "\(library.errors)")

        for module in ["GoldenVectors", "Tiers"] {
            let shared = try compile(
                module, Self.swiftFiles("Tests/\(module)", in: folder), in: folder,
                [
                    "-parse-as-library", "-emit-module", "-emit-module-path",
                    "\(module).swiftmodule", "-emit-library", "-static", "-o", "lib\(module).a",
                ])
            try #require(shared.status == 0, "\(shared.errors)")
        }
        // The entry point that SwiftPM writes for a test bundle.
        let main = """
            import Testing
            @main struct Runner {
                static func main() async { await Testing.__swiftPMEntryPoint() as Never }
            }

            """
        try Data(main.utf8).write(to: folder.appending(path: "Runner.swift"))
        let tests = ["DownstreamSet", "FailoverTableTests", "SlotTableTests"]
            .map { "Tests/FanoutCoreTests/\($0).swift" }
        let program = try compile(
            "ExampleTests", tests + ["Runner.swift"], in: folder,
            [
                "-parse-as-library", "-L", ".", "-lFanoutCore", "-lGoldenVectors", "-lTiers", "-o",
                "example",
            ])
        try #require(program.status == 0, "\(program.errors)")
        let run = try Command.run(
            "./example", ["--testing-library", "swift-testing"], in: folder)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let said = run.output + run.errors
        #expect(said.contains("Suite \"Failover\" passed"), "\(said)")
    }

    @Test("every file that CONTRIBUTING and the page name exists")
    func filesExist() throws {
        let example = try MarkdownPage.page("docs/adding-a-balance.md")
        let made = Set(
            example.blocks.compactMap(Step.init).compactMap { step in
                if case .new = step.place { step.path } else { nil }
            })
        for page in [example, try MarkdownPage.page("CONTRIBUTING.md")] {
            for (number, text) in page.prose {
                for code in MarkdownPage.code(in: text)
                where code.wholeMatch(
                    of: /(Sources|Tests|bpf|docs|scripts|Fuzz|pkgconfig)\/[\w.+\/-]+/)
                    != nil && !made.contains(code)
                {
                    let path = SourceTree.root.appending(path: code).path
                    // A script writes Fuzz/corpus.
                    #expect(
                        FileManager.default.fileExists(atPath: path) || code == "Fuzz/corpus",
                        "\(page.path):\(number): \(code)")
                }
            }
        }
    }
}
