// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

@testable import FanoutConfig

@Suite("What is not a configuration file is refused in one line that says what to do", .tags(.unit))
struct SourceTests {
    static let texts: [(String, String)] = [
        ("", "f: the file is empty; write at least listeners"),
        ("# only prose\n", "f: the file is empty; write at least listeners"),
        ("---\n", "f: the file is empty; write at least listeners"),
        ("~\n", "f: the file is empty; write at least listeners"),
        (
            "\u{feff}a: 1\n",
            "f:1:1: the file begins with a byte order mark; save it as UTF-8 without one"
        ),
        ("listeners:\n\t- name: a\n", "f:2:1: a tab in the indentation; write spaces"),
        ("listeners:\n  \tname: a\n", "f:2:3: a tab in the indentation; write spaces"),
        ("a: 1\n\t\n", "f:2:1: a tab in the indentation; write spaces"),
        ("a: 1\n---\nb: 2\n", "f:2:1: a second document begins here; keep one document in a file"),
        ("a: 1\n...\nb: 2\n", "f:3:1: a second document begins here; keep one document in a file"),
        ("---\n---\n", "f:2:1: a second document begins here; keep one document in a file"),
        ("%YAML 1.1\n---\na: 1\n", "f:1:1: directives are refused; remove the line"),
        ("a: \u{7}\n", "f:1:4: the file holds the control character U+0007; remove it"),
        ("# \u{85}a: *b\n", "f:1:3: the file holds the control character U+0085; remove it"),
        ("ä: \u{2028}\n", "f:1:4: the file holds the control character U+2028; remove it"),
        (
            "a: \"b\\\"\n",
            "f:2:1: this is not YAML: found unexpected end of stream, while scanning a quoted scalar "
                + "that begins on line 1; check the indentation, the colons and the quotes here and on "
                + "the line before"
        ),
        ("- a\n", "f:1:1: is not a mapping; write its keys below it, indented"),
        ("syslog\n", "f:1:1: is not a mapping; write its keys below it, indented"),
        (
            "listeners: [\n",
            "f:2:1: this is not YAML: did not find expected node content, while parsing a flow node "
                + "that begins on line 2; check the indentation, the colons and the quotes here and on "
                + "the line before"
        ),
        (
            "listeners: a: b\n",
            "f:1:13: this is not YAML: mapping values are not allowed in this context; check the "
                + "indentation, the colons and the quotes here and on the line before"
        ),
        (
            "a: @b\n",
            "f:1:4: this is not YAML: found character that cannot start any token, while scanning for "
                + "the next token that begins on line 1; check the indentation, the colons and the "
                + "quotes here and on the line before"
        ),
    ]

    @Test("a text is refused with its place and the remedy", arguments: texts)
    func text(yaml: String, problem: String) {
        #expect(Reading(yaml).errors == [problem])
    }

    static let refusedTokens: [(String, [String])] = [
        ("a: &x 1\nb: *x\n", ["f:2:4: aliases are refused; write the value out"]),
        (
            "b: {<<: *x, c: *y}\n",
            [
                "f:1:9: aliases are refused; write the value out",
                "f:1:16: aliases are refused; write the value out",
            ]
        ),
        ("name: !!str no\n", ["f:1:7: tags are refused; write the value without one"]),
        (
            "a: !x [1]\nb: !y 2\n",
            [
                "f:1:4: tags are refused; write the value without one",
                "f:2:4: tags are refused; write the value without one",
            ]
        ),
    ]

    @Test("aliases and tags are refused wherever a value may begin", arguments: refusedTokens)
    func tokens(yaml: String, problems: [String]) {
        #expect(Reading(yaml).errors == problems)
    }

    @Test("stars, ampersands and exclamation marks inside texts are text")
    func indicatorsInsideTexts() {
        let name = "a*b &c !d 'e #f"
        let reading = Reading(
            Reading.good.replacing("name: a\n", with: "name: \"\(name)\" # *no\n"))
        #expect(reading.listener?.name == name)
        let plain = Reading(Reading.good.replacing("name: a\n", with: "name: a*b&c!d#e|f>g\n"))
        #expect(plain.listener?.name == "a*b&c!d#e|f>g")
    }

    @Test("an anchor alone changes nothing")
    func anchor() {
        let reading = Reading(Reading.good.replacing("name: a\n", with: "name: &x a\n"))
        #expect(reading.listener?.name == "a")
    }

    @Test("CRLF line ends, a document start and a document end are accepted")
    func lineEnds() {
        let text = "---\n" + Reading.good + "...\n"
        #expect(Reading(text).configuration == Reading(Reading.good).configuration)
        #expect(
            Reading(text.replacing("\n", with: "\r\n")).configuration
                == Reading(Reading.good).configuration)
        let wrong = Reading(
            Reading.good.replacing("bind", with: "bnd").replacing("\n", with: "\r\n"))
        #expect(wrong.errors.last == "f:3:5: listeners[0].bnd: unknown key; write bind")
    }

    @Test("bytes that are not UTF-8 are refused at the first of them")
    func encoding() {
        let problem = "the file is not UTF-8; save it as UTF-8"
        #expect(Reading(bytes: Array("ä: 1\nb: ".utf8) + [0xe4]).errors == ["f:2:4: \(problem)"])
        #expect(Reading(bytes: [0xff, 0xfe, 0x61, 0]).errors == ["f:1:1: \(problem)"])
        #expect(Reading(bytes: [0x61, 0]).errors.count == 1)
    }
}

@Suite("A file that cannot be read is refused in one line that says what to do", .tags(.unit))
struct ConfigFileTests {
    private func problem(_ path: String) -> String? {
        guard case .invalid(let problems) = Configuration.load(path: path), problems.count == 1
        else {
            return nil
        }
        return problems[0].description
    }

    @Test("a missing file, a directory and a device that refuses")
    func paths() {
        #expect(
            problem("/nowhere/c.yaml")
                == "/nowhere/c.yaml: the file does not exist; put it there, or write its path after --config"
        )
        #expect(
            problem("/proc")
                == "/proc: this is a directory; write the path of a file after --config")
        #expect(
            problem("/proc/self/mem")
                == "/proc/self/mem: the file cannot be read (errno \(EIO)); "
                + "write the path of a readable file after --config")
    }

    @Test("a file that the user may not read is told from one that is missing")
    func permission() {
        // A superuser may read anything, so the system's answer is given by hand.
        #expect(
            ConfigFile.problem(of: "c.yaml", errno: EACCES).description
                == "c.yaml: the file may not be read; give the daemon's user permission to read it")
        #expect(
            ConfigFile.problem(of: "c.yaml", errno: nil).description
                == "c.yaml: the file cannot be read; write the path of a readable file after --config"
        )
    }

    @Test("a path with a line break in it still makes one line")
    func oddPath() {
        #expect(problem("/nowhere/a\nb")?.contains("\n") == false)
    }

    @Test("a file without an end is refused by its kind or its length")
    func endless() {
        #expect(
            problem("/dev/zero")
                == "/dev/zero: this is not a regular file; "
                + "write the path of a file after --config; pipes and devices are not read")
        let folder = FileManager.default.temporaryDirectory.path
        let (pipe, long) = (
            "\(folder)/fanout-\(UUID().uuidString)", "\(folder)/fanout-\(UUID().uuidString)"
        )
        defer { for path in [pipe, long] { unlink(path) } }
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(problem(pipe)?.contains("this is not a regular file") == true)
        #expect(FileManager.default.createFile(atPath: long, contents: nil))
        #expect(truncate(long, 1 << 40) == 0)
        #expect(
            problem(long)
                == "\(long): the file is longer than 8388608 bytes; "
                + "write fewer listeners or start a second daemon")
    }

    @Test("a file on disk is read whole")
    func whole() throws {
        let path = FileManager.default.temporaryDirectory.path + "/fanout-\(UUID().uuidString).yaml"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let padding = String(repeating: "# padding\n", count: 50_000)
        try (padding + Reading.good).write(toFile: path, atomically: false, encoding: .utf8)
        let expected = try #require(Reading(Reading.good).configuration)
        #expect(Configuration.load(path: path) == .valid(expected, warnings: []))
    }
}
