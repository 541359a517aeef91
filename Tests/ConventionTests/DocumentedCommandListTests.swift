// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// Every command that a page shows is run: verbatim by `DocumentedCommandTests`, or by the test or script that
/// `DocumentedCommands` names.
@Suite("Commands of the documentation", .tags(.unit))
struct DocumentedCommandListTests {
    @Test("each is run by a test")
    func everyCommand() throws {
        let known = Dictionary(
            DocumentedCommands.all.map { ($0.command, $0) }, uniquingKeysWith: { first, _ in first }
        )
        var unknown: [String] = []
        for page in try MarkdownPage.all()
        where !DocumentedCommands.pagesRun.contains(page.path)
            && !DocumentedCommands.pagesOfOtherSuites.contains(page.path)
        {
            for (line, command) in page.commands where known[command] == nil {
                unknown.append("\(page.path):\(line): \(command)")
            }
        }
        #expect(unknown == [], "add the test or script that runs them to DocumentedCommands.swift")
    }

    @Test("the named test or script exists and has the command", arguments: DocumentedCommands.all)
    func evidence(entry: DocumentedCommands.Entry) throws {
        let text = try String(
            contentsOf: SourceTree.root.appending(path: entry.runner), encoding: .utf8)
        #expect(text.contains(entry.words), "\(entry.runner) does not contain '\(entry.words)'")
    }

    @Test("every entry's command is on a page")
    func noLeftovers() throws {
        let shown = Set(try MarkdownPage.all().flatMap { $0.commands.map(\.command) })
        #expect(DocumentedCommands.all.map(\.command).filter { !shown.contains($0) } == [])
    }

    @Test("the suite that runs pages verbatim names them all")
    func pagesRun() throws {
        let suite = try String(
            contentsOf: SourceTree.root.appending(
                path: "Tests/DaemonTests/DocumentedCommandTests.swift"), encoding: .utf8)
        for page in DocumentedCommands.pagesRun {
            #expect(suite.contains("\"\(page)\""), "\(page)")
            #expect(try !MarkdownPage.page(page).commands.isEmpty, "\(page)")
        }
    }
}
