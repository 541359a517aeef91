// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import SchemaCheck
import Testing
import Tiers

/// A block of YAML in a page.
struct Snippet: Sendable, CustomTestStringConvertible {
    let page: String
    let line: Int
    let text: String

    var testDescription: String { "\(page):\(line)" }

    static func all(in page: String) -> [Snippet] {
        let lines = ((try? Tree.text(page)) ?? "").split(
            separator: "\n", omittingEmptySubsequences: false)
        var result: [Snippet] = []
        var begin: (line: Int, indent: Int)?
        for (index, line) in lines.enumerated() {
            let content = line.drop { $0 == " " }
            if let start = begin, content.hasPrefix("```") {
                let body = lines[(start.line + 1)..<index].map { $0.dropFirst(start.indent) }
                result.append(
                    Snippet(
                        page: page, line: start.line + 1, text: body.joined(separator: "\n") + "\n")
                )
                begin = nil
            } else if begin == nil, content.hasPrefix("```y") {
                begin = (index, line.count - content.count)
            }
        }
        return result
    }

    /// Every one of the documentation.
    static let all: [Snippet] =
        (["README.md", "CONTRIBUTING.md"]
        + ((try? Tree.files(in: "docs", ending: ".md")) ?? [])
        + ((try? Tree.files(in: "docs/reference", ending: ".md")) ?? [])).flatMap(all(in:))
}

@Suite("Every block of YAML in the documentation", .tags(.unit))
struct SnippetTests {
    static let listener = """
        listeners:
          - {name: a, bind: "0.0.0.0:514", downstream: [{name: r, address: "192.0.2.1:514"}]}

        """

    @Test("is there: some are configurations, some manifests")
    func some() {
        #expect(Snippet.all.count > 10)
        #expect(Snippet.all.contains { $0.text.contains("kind: ") })
        #expect(Snippet.all.contains { $0.text.contains("listeners:") })
    }

    @Test("is what the reader, Kubernetes or the chart accepts", arguments: Snippet.all)
    func accepted(snippet: Snippet) throws {
        let problems = try Self.problems(of: snippet)
        #expect(problems == [])
    }

    static func problems(of snippet: Snippet) throws -> [String] {
        let documents = try Value.documents(yaml: snippet.text, isStrict: false)
        // A line for editors, say.
        guard let first = documents.first else { return [] }
        if first["kind"] != nil || first["apiVersion"] != nil {
            let api = try KubernetesAPI()
            return try Value.documents(yaml: snippet.text).flatMap(api.problems)
        }
        if snippet.text.hasPrefix("# values.yaml") {
            return try ChartTests.rules().problems(of: ChartTests.values(snippet.text))
        }
        // A part of a file stands beside a listener that is right.
        let text = first["listeners"] == nil ? listener + snippet.text : snippet.text
        guard case .invalid(let problems) = Configuration.read(text, file: snippet.page) else {
            return []
        }
        return problems.map(\.description)
    }

    @Test(
        "a mistake would be found",
        arguments: [
            "listener: []\n", "settings: {worker: 1}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndate: {}\n",
            "kind: Pod\napiVersion: v1\n", "# values.yaml\nmodes: tc_ebpf\n",
        ])
    func mistakes(text: String) throws {
        #expect(try !Self.problems(of: Snippet(page: "p", line: 1, text: text)).isEmpty)
    }

    @Test("the commands of the Kubernetes guide name files that are there")
    func commands() throws {
        let page = try Tree.text("docs/kubernetes.md")
        let paths = page.matches(of: /packaging\/[a-z\/.-]*[a-z]/).map { String($0.output) }
        #expect(paths.count > 5)
        for path in Set(paths) { #expect(Tree.exists(path), "\(path)") }
        for match in page.matches(of: /kubectl apply -k (packaging\S+)/) {
            let objects = try Kustomization(folder: String(match.output.1)).objects
            #expect(!objects.isEmpty)
        }
    }

    @Test("the commands of the Kubernetes guide name what the manifests make")
    func names() throws {
        let page = try Tree.text("docs/kubernetes.md")
        let daemonSet = try #require(KustomizeTests.manifests("base").first("DaemonSet"))
        let named = page.matches(of: /kubectl -n (\S+) .*daemonset\/(\S+)/)
        #expect(named.count >= 2)
        for match in named {
            #expect(daemonSet["metadata"]?["namespace"]?.text == String(match.output.1))
            #expect(daemonSet["metadata"]?["name"]?.text == String(match.output.2))
        }
    }
}
