// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A page of the documentation: its prose, its fenced blocks, its links.
struct MarkdownPage {
    struct Block {
        let language: String
        /// The last line of text before it.
        let lead: String
        let line: Int
        let text: String
    }

    /// Relative to the root of the package.
    let path: String
    /// The lines outside fenced blocks, with their numbers, from 1.
    let prose: [(number: Int, text: String)]
    let blocks: [Block]

    init(path: String, text: String) {
        self.path = path
        var prose: [(Int, String)] = []
        var blocks: [Block] = []
        var open: (language: String, line: Int, lines: [String])?
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                if let block = open {
                    let lead = prose.last { !$0.1.isEmpty }?.1 ?? ""
                    blocks.append(
                        Block(
                            language: block.language, lead: lead, line: block.line,
                            text: block.lines.map { $0 + "\n" }.joined()))
                    open = nil
                } else {
                    open = (String(line.dropFirst(3)), index + 1, [])
                }
            } else if open != nil {
                open?.lines.append(line)
            } else {
                prose.append((index + 1, line))
            }
        }
        self.prose = prose
        self.blocks = blocks
    }

    /// Every page that git tracks or would track.
    static func all() throws -> [MarkdownPage] {
        let git = try Command.run(
            "git",
            [
                "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard",
                "*.md",
            ], in: SourceTree.root)
        guard git.status == 0 else { throw CommandFailed(output: git.errors) }
        return try git.output.split(separator: "\n").map { try page(String($0)) }
    }

    static func page(_ path: String) throws -> MarkdownPage {
        let text = try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8)
        return MarkdownPage(path: path, text: text)
    }

    /// The commands of its `sh` blocks, line by line, without comments.
    var commands: [(line: Int, command: String)] {
        blocks.filter { $0.language == "sh" }.flatMap { block in
            block.text.components(separatedBy: "\n").enumerated().compactMap { index, line in
                let command = line.replacing(/(^|\s+)#\s.*$/, with: "")
                    .trimmingCharacters(in: .whitespaces)
                return command.isEmpty ? nil : (block.line + 1 + index, command)
            }
        }
    }

    /// Targets of links and pictures within this tree.
    var links: [(line: Int, target: String)] {
        prose.flatMap { number, text in
            // Code spans contain no links.
            text.replacing(/`[^`]*`/, with: "")
                .matches(of: /\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"\s]+)"/)
                .map { (number, String($0.output.1 ?? $0.output.2 ?? "")) }
        }.filter { !$0.target.contains("://") && !$0.target.hasPrefix("mailto:") }
    }

    /// Its anchors, as GitHub derives them from headings.
    var anchors: Set<String> {
        Set(
            prose.map(\.text).filter { $0.hasPrefix("#") }.map { heading in
                heading.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
                    .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            })
    }

    /// The code spans of a line.
    static func code(in text: String) -> [String] {
        text.matches(of: /`([^`]+)`/).map { String($0.output.1) }
    }
}
