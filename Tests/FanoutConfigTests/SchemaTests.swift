// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import Foundation
import SchemaCheck
import Testing
import Tiers

@Suite("The JSON Schema of the configuration file", .tags(.unit))
struct SchemaTests {
    static let schema = try? Schema(Value(yaml: ConfigurationSchema.text))

    static func problems(_ yaml: String) throws -> [String] {
        let schema = try #require(schema, "the schema holds a word that is not known here")
        // What no editor can read is refused as well.
        guard let value = try? Value(yaml: yaml) else { return ["unreadable"] }
        return schema.problems(of: value)
    }

    /// A file of the tree, by its path from the root.
    static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test("what is committed is what the sources make; `make reference` rewrites it")
    func committed() throws {
        #expect(try Self.file("docs/reference/config.schema.json") == ConfigurationSchema.text)
        #expect(try Self.file("docs/reference/configuration.md") == ConfigurationReference.markdown)
    }

    @Test("editors find it by the first line of the example")
    func modeline() throws {
        let line = ExampleTests.text.split(separator: "\n").first ?? ""
        let path = line.split(separator: "$schema=").last.map(String.init) ?? ""
        #expect(line.hasPrefix("# yaml-language-server: $schema="))
        #expect(try Self.file(path) == ConfigurationSchema.text)
    }

    @Test("the example is valid, as it is and with every key in use")
    func example() throws {
        #expect(try Self.problems(ExampleTests.text) == [])
        #expect(try Self.problems(ExampleTests.everyKey) == [])
    }

    @Test("every key is described, and its default is one that the schema accepts")
    func defaults() throws {
        let schema = try Value(yaml: ConfigurationSchema.text)
        let keys = ConfigSection.all.flatMap { section in section.keys.map { (section, $0) } }
        for (place, key) in keys {
            let section = place.paths == [""] ? schema : schema["$defs"]?[place.name]
            let entry = try #require(section?["properties"]?[key.name], "\(key)")
            #expect(entry["description"]?.text?.hasPrefix(key.meaning) == true, "\(key)")
            guard case .value = key.defaultValue else {
                #expect(entry["default"] == nil)
                continue
            }
            let value = try #require(entry["default"], "\(key)")
            var own = entry.object ?? [:]
            own["$defs"] = schema["$defs"]
            #expect(try Schema(.object(own)).accepts(value), "\(key)")
        }
    }

    /// Numbers and words that mean to YAML 1.2 what they look like: a schema sees 10 and not `012`.
    private static let spellings: Set = [
        "012", "0x10", "0o17", "1e3", "3.0", "+8", "True", "FALSE",
    ]

    @Test("refuses what the reader refuses: values of the wrong type or out of range")
    func wrongTypes() throws {
        for (written, _) in ValueTests.integers where !Self.spellings.contains(written) {
            let yaml = Reading.good + "settings:\n  batch_size: \(written)\n"
            #expect(try !Self.problems(yaml).isEmpty, "\(written)")
        }
        for (written, _) in ValueTests.booleans where !Self.spellings.contains(written) {
            let yaml = Reading.good + "settings:\n  pin_cpus: \(written)\n"
            #expect(try !Self.problems(yaml).isEmpty, "\(written)")
        }
        // Whether an address needs a zone the pattern does not say.
        for (written, problem) in ValueTests.endpoints where !problem.contains("link-local") {
            let yaml = Reading.yaml(
                listener: "bind: \(written)\ndownstream: [{name: r, address: '192.0.2.9:1'}]")
            #expect(try !Self.problems(yaml).isEmpty, "\(written)")
        }
        for (written, _) in ValueTests.names {
            let yaml = Reading.good.replacing("name: a\n", with: "name: \(written)\n")
            #expect(try !Self.problems(yaml).isEmpty, "\(written)")
        }
    }

    @Test("refuses what the reader refuses: words, blocks and keys")
    func wrongWords() throws {
        for (line, _) in ValueTests.words {
            let yaml = Reading.yaml(
                listener:
                    "bind: 0.0.0.0:514\n\(line)\ndownstream: [{name: r, address: '192.0.2.9:1'}]")
            #expect(try !Self.problems(yaml).isEmpty, "\(line)")
        }
        for (line, _) in ValueTests.others + KeyTests.misplacedCases {
            #expect(try !Self.problems(Reading.good + line + "\n").isEmpty, "\(line)")
        }
        // In which mode a service's address joins is between two keys; 0x50 and 012 are spellings.
        let beyond = ["0x50", "012", "vip: true"]
        for (block, _) in ValueTests.kubernetesCases where !beyond.contains(where: block.contains) {
            let yaml = Reading.yaml(listener: "bind: 0.0.0.0:514\nkubernetes: \(block)")
            #expect(try !Self.problems(yaml).isEmpty, "\(block)")
        }
        for (block, problem) in ValueTests.sourceCases where !problem.contains("needs no DNS") {
            let yaml = Reading.yaml(listener: "bind: 0.0.0.0:514\n\(block)")
            #expect(try !Self.problems(yaml).isEmpty, "\(block)")
        }
    }

    @Test(
        "knows what the keys of a listener have to do with each other",
        arguments: [
            "downstream: [{name: r, address: '192.0.2.9:1'}]",
            "bind: 0.0.0.0:514", "bind: 0.0.0.0:514\ndownstream: []",
            "bind: 0.0.0.0:514\ndns: {name: a.b}\nfile: {path: /r}",
            "bind: 0.0.0.0:514\ndns: {name: a.b}\nmode: tc_ebpf",
            "bind: 0.0.0.0:514\ndns: {name: a.b}\naddresses: any",
            "bind: 0.0.0.0:514\ndns: {name: a.b}\none_arm: true",
            "vip: 192.0.2.1\ndns: {name: a.b}\nmode: xdp_nat\ninterface: eth0",
        ])
    func together(lines: String) throws {
        #expect(try !Self.problems(Reading.yaml(listener: lines)).isEmpty)
        #expect(!Reading(listener: lines).errors.isEmpty)
    }

    @Test("refuses nothing that the reader accepts", arguments: SeedTests.names)
    func accepted(seed: String) throws {
        let text = try Self.file("Fuzz/corpus/config/\(seed)")
        guard let configuration = Reading(text).configuration else { return }
        #expect(try Self.problems(text) == [])
        #expect(try Self.problems(configuration.effectiveYAML) == [])
    }
}
