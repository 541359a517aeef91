// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The conventions of a source file. Each rule is a pure function of one file, so that a test can show it a bad one.
enum Conventions {
    /// A file that does not name its licence in its first lines, or names the wrong one.
    static func licence(_ file: SourceFile) -> [Finding] {
        let wanted = file.folder == "bpf" ? "(BSD-2-Clause OR GPL-2.0-only)" : "Apache-2.0"
        // A `#!` line or the tools version must come first.
        let head = file.lines.prefix(2).map(\.text)
        let named = head.contains { $0.contains("SPDX-License-Identifier: \(wanted)") }
        return named ? [] : [file.finding("no SPDX-License-Identifier: \(wanted) at its head")]
    }

    /// A name that does not describe the file's content.
    static func emptyName(_ file: SourceFile) -> [Finding] {
        ["manager", "helper", "util", "common", "misc"]
            .filter(file.name.lowercased().contains)
            .map { file.finding("a name with '\($0)' in it says nothing") }
    }

    /// A note of postponed work. The marks are concatenated, so that this file does not match.
    static func leftovers(_ file: SourceFile) -> [Finding] {
        let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
        return file.lines.filter { line in marks.contains { line.text.contains($0) } }.flatMap {
            line in
            let words = line.text.split { !$0.isLetter }
            return marks.filter { mark in words.contains { $0 == mark } }
                .map { file.finding("a leftover \($0)", line: line.number) }
        }
    }

    /// Unsafe Swift above the edges, outside workers, without a SAFETY comment.
    static func unsafeCode(_ file: SourceFile) -> [Finding] {
        guard file.folder == "Sources", file.kind == "swift",
            !Layers.edges.contains(where: { file.path.hasPrefix("Sources/\($0)/") }),
            !file.name.contains("Worker"), !file.text.contains("// SAFETY:")
        else { return [] }
        return file.lines.filter {
            $0.text.contains("unsafe") && code(of: $0.text).contains(/\bunsafe\b/)
        }
        .map { file.finding("unsafe without a // SAFETY: comment", line: $0.number) }
    }

    /// A path that exists only on its author's machine.
    static func machinePath(_ file: SourceFile) -> [Finding] {
        var folders = ["Users", "home", "mnt", "root", "work", "workspace"]
        if ["Sources", "bpf", "Plugins"].contains(file.folder) { folders.append("tmp") }
        return file.lines.filter { $0.text.contains("/") }.flatMap { line in
            line.text.matches(of: /(?:^|[\s"'`(=:,])\/(\w+)\/\w/)
                .filter { folders.contains(String($0.output.1)) }
                .map { file.finding("a path of one machine: /\($0.output.1)", line: line.number) }
        }
    }

    /// Time of the wall clock, which may jump, other than for timestamps.
    static func timeOfDay(_ file: SourceFile) -> [Finding] {
        let stamps = [
            "LinuxNet/Clocks", "FanoutMetrics/Process/", "udp-fanout/Log/",
            "udp-fanout/Daemon.swift", "CReusePortLB/members.c", "collector/", "publisher/",
        ]
        guard file.folder == "Sources",
            !stamps.contains(where: { file.path.hasPrefix("Sources/\($0)") })
        else { return [] }
        return file.lines.filter {
            ["WallClock", "CLOCK_REALTIME", "Date()", "gettimeofday"].contains(
                where: $0.text.contains)
                && code(of: $0.text).contains(
                    /\b(WallClock\.now|CLOCK_REALTIME|Date\(\)|gettimeofday)/)
        }.map { file.finding("the time of day, which may jump", line: $0.number) }
    }

    /// Whether a tracked path is a build product.
    static func built(_ path: String) -> Bool {
        let parts = path.split(separator: "/").map(String.init)
        let name = parts.last ?? ""
        let kinds: Set = ["a", "bc", "d", "la", "lo", "o", "pyc", "so", "swiftmodule"]
        let fromAutotools: Set = [
            "Makefile.in", "aclocal.m4", "autom4te.cache", "config.guess", "config.log",
            "config.status", "config.sub", "configure", "install-sh", "libtool", "ltmain.sh",
        ]
        return !fromAutotools.isDisjoint(with: parts)
            || !Set([".build", ".swiftpm", ".deps", ".libs"]).isDisjoint(with: parts)
            || kinds.contains(URL(filePath: name).pathExtension)
            || name.contains(".so.")
    }

    /// A line of Swift without comments and string literals.
    private static func code(of line: Substring) -> String {
        let unquoted = String(line).replacing(/"(?:\\.|[^"\\])*"/, with: "\"\"")
        return unquoted.firstRange(of: "//").map { String(unquoted[..<$0.lowerBound]) } ?? unquoted
    }
}
