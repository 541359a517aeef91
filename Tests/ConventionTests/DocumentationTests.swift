// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

@Suite("Documentation", .tags(.network))
struct DocumentationTests {
    @Test("every relative link refers to a file, and to a heading where it names one")
    func links() throws {
        let pages = try MarkdownPage.all()
        #expect(pages.count > 20)
        var broken: [String] = []
        for page in pages {
            let folder = SourceTree.root.appending(path: page.path).deletingLastPathComponent()
            for link in page.links {
                let parts = link.target.split(
                    separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let file =
                    parts[0].isEmpty
                    ? SourceTree.root.appending(path: page.path)
                    : folder.appending(path: String(parts[0])).standardizedFileURL
                let path = file.path.replacing(SourceTree.root.path + "/", with: "")
                guard FileManager.default.fileExists(atPath: file.path) else {
                    broken.append("\(page.path):\(link.line): \(link.target)")
                    continue
                }
                if parts.count == 2,
                    !(try MarkdownPage.page(path).anchors.contains(String(parts[1])))
                {
                    broken.append("\(page.path):\(link.line): no such heading: \(link.target)")
                }
            }
        }
        #expect(broken == [])
    }

    @Test("the index names every page")
    func index() throws {
        let index = try MarkdownPage.page("docs/README.md")
        let targets = Set(index.links.map(\.target))
        let folder = SourceTree.root.appending(path: "docs")
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".md") && $0 != "README.md" }
        #expect(pages.filter { !targets.contains($0) } == [])
    }

    @Test(
        "pictures are on a page; SVG has a title, both colour schemes and no external content"
    )
    func pictures() throws {
        let folder = SourceTree.root.appending(path: "docs/pictures")
        let used = Set(
            try MarkdownPage.all().flatMap(\.links).map {
                $0.target.split(separator: "/").last.map(String.init) ?? ""
            })
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count >= 6)
        for name in names {
            #expect(used.contains(name), "\(name) is on no page")
            let content = try Data(contentsOf: folder.appending(path: name))
            if name.hasSuffix(".png") {
                #expect(content.count <= 200 << 10, "\(name)")
                continue
            }
            let text = String(decoding: content, as: UTF8.self)
            let check = try Command.run(
                "python3", ["-c", "import sys,xml.dom.minidom as m; m.parse(sys.argv[1])", name],
                in: folder)
            #expect(check.status == 0, "\(name): \(check.errors)")
            #expect(text.contains("<title") && text.contains("<desc"), "\(name)")
            #expect(text.contains("prefers-color-scheme: dark"), "\(name)")
            #expect(!text.contains("href") && !text.contains("<script"), "\(name)")
        }
    }

    @Test("every picture on a page has an alternative text")
    func alternativeTexts() throws {
        for page in try MarkdownPage.all() {
            let text = page.prose.map(\.text).joined(separator: "\n")
            let bare = text.matches(of: /!\[\s*\]|<img\b(?![^>]*\balt="[^"]+")[^>]*>/)
            #expect(bare.map { String($0.output) } == [], "\(page.path)")
        }
    }

    /// The sources as one text, with concatenated literals joined.
    private static func wordsOfSources() throws -> String {
        try SourceTree.sources().filter { $0.folder == "Sources" }.map(\.text)
            .joined(separator: "\n")
            .replacing(/"\s*\n?\s*\+\s*"/, with: "")
    }

    @Test("each symptom quotes the program's message verbatim")
    func troubleshooting() throws {
        let page = try MarkdownPage.page("docs/troubleshooting.md")
        let words = try Self.wordsOfSources()
        var symptom = ""
        var quotes: [String: Int] = [:]
        for (number, text) in page.prose {
            if text.hasPrefix("## ") {
                symptom = text
                quotes[symptom] = 0
            }
            guard text.firstMatch(of: #/^- (log|metric|doctor|explain|status): /#) != nil else {
                continue
            }
            let quoted = MarkdownPage.code(in: text)
            #expect(!quoted.isEmpty, "line \(number)")
            for quote in quoted {
                for part in quote.split(separator: "…") {
                    let part = part.trimmingCharacters(in: .whitespaces)
                    let isSaid = words.contains(part)
                    #expect(isSaid, "line \(number): '\(part)' is in no source")
                }
                quotes[symptom, default: 0] += 1
            }
        }
        #expect(quotes.count >= 15)
        #expect(quotes.filter { $0.value == 0 }.keys.sorted() == [])
    }

    @Test("the control socket's page names every request, step and member of its messages")
    func controlSocket() throws {
        let page = try String(
            contentsOf: SourceTree.root.appending(path: "docs/reference/control-socket.md"),
            encoding: .utf8)
        let messages = try SourceTree.sources().filter {
            $0.path.hasPrefix("Sources/FanoutControl/ControlSocket/ControlMessages")
                || $0.path.hasPrefix("Sources/FanoutControl/ControlSocket/Reports/")
        }.map(\.text).joined(separator: "\n")
        var names = messages.matches(of: /\n +public var (\w+): [^{\n]+(?=\n)/)
            .map { String($0.output.1).replacing(/[A-Z]/) { "_" + $0.output.lowercased() } }
        names += messages.matches(of: /\n +case (`?[a-z][\w`, ]*)(?=\n)/).flatMap {
            $0.output.1.replacing("`", with: "").components(separatedBy: ", ")
        }
        #expect(names.count > 60)
        #expect(
            names.filter { !page.contains("`\($0)`") && !page.contains("\"\($0)\"") } == [])
    }

    @Test("every suite that a page names exists")
    func suites() throws {
        let sources = try SourceTree.sources().filter { $0.path.contains("Tests/") }
        let names = Set(
            sources.flatMap { source in
                [source.name.replacing(".swift", with: "")]
                    + source.path.split(separator: "/").map(String.init)
                    + source.text.matches(of: /struct (\w+)/).map { String($0.output.1) }
            })
        var missing: [String] = []
        for page in try MarkdownPage.all() {
            for (number, text) in page.prose {
                for code in MarkdownPage.code(in: text) {
                    guard let match = code.wholeMatch(of: /(?:\w+\/)*([A-Z]\w*Tests\w*)/) else {
                        continue
                    }
                    if !names.contains(String(match.output.1)) {
                        missing.append("\(page.path):\(number): \(code)")
                    }
                }
            }
        }
        #expect(missing == [])
    }

    @Test(
        "each row of the specification names its tiers, or the command that checks it")
    func tiers() throws {
        let page = try MarkdownPage.page("SPECIFICATION.md")
        let rows = page.prose.map(\.text).filter {
            $0.hasPrefix("| ") && !$0.hasPrefix("| promise")
        }
        #expect(rows.count > 100)
        let wanted =
            /(?:unit|network|load|exhaustive|the compiler|`[^`]+`)(?:, (?:unit|network|load|exhaustive|`[^`]+`))*/
        for row in rows {
            let cell = row.split(separator: "|").last?.trimmingCharacters(in: .whitespaces)
            #expect(cell?.wholeMatch(of: wanted) != nil, "\(row)")
        }
    }

    @Test("every symbol that the DocC pages name exists in the library")
    func docc() throws {
        let folder = "Sources/ReusePortLB/ReusePortLB.docc"
        let files = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appending(path: folder).path)
        let sources = try SourceTree.sources().filter { $0.path.hasPrefix("Sources/ReusePortLB/") }
            .map(\.text).joined()
        var named = 0
        for file in files where file.hasSuffix(".md") {
            let text = try String(
                contentsOf: SourceTree.root.appending(path: "\(folder)/\(file)"), encoding: .utf8)
            for match in text.matches(of: /``([A-Za-z\/]+)(?:\([^`]*\))?``/) {
                let name = match.output.1.split(separator: "/").last.map(String.init) ?? ""
                let declared = try Regex(
                    "(struct|class|enum|protocol|func|let|var|case|typealias) \(name)\\b")
                named += 1
                #expect(
                    name == "ReusePortLB" || sources.firstMatch(of: declared) != nil,
                    "\(file): \(match.output.0)")
            }
        }
        #expect(named > 10)
    }
}
