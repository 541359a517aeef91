// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import ReusePortLB
import Testing

// The tutorial's program; the article quotes these lines verbatim.
func collect(slot: Int, at endpoint: Endpoint, pinRoot: String?) async throws -> Int {
    let group = try ReusePortGroup("netflow", GroupOptions(count: 3, pinRoot: pinRoot))
    let socket = try ReusePortSocket(boundTo: endpoint, receiveBuffer: 4 << 20)
    let membership = try group.join(socket, slot: slot)
    var bytes = 0
    for try await batch in membership.datagrams() {
        for index in batch.indices { bytes += batch.length(index) }
    }
    return bytes
}

// The front page's program; README.md quotes it.
func receive(slot: Int) async throws {
    let socket = try ReusePortSocket(boundTo: Endpoint(parsing: "127.0.0.1:2055"))
    let group = try ReusePortGroup("netflow", GroupOptions(count: 3))
    let membership = try group.join(socket, slot: slot)
    for try await batch in membership.datagrams() {
        for datagram in batch { print(datagram.source, datagram.bytes.count) }
    }
}

extension ReusePortTests {
    @Suite("The tutorial")
    struct TutorialTests {}
}

extension ReusePortTests.TutorialTests {
    @Test("the article's program is the compiled one, and has ten lines")
    func quoted() throws {
        let article = try Files.source(
            "Sources/ReusePortLB/ReusePortLB.docc/CollectorInTenLines.md")
        let quote = try #require(article.firstMatch(of: /```swift\n((?s:.*?))```/)).output.1
        let here = try Files.source("Tests/ReusePortTests/TutorialTests.swift")
        #expect(here.contains("\n" + quote))
        #expect(quote.split(separator: "\n").count <= 10)
    }

    @Test("the front page's program is the compiled one")
    func frontPage() throws {
        let page = try Files.source("README.md")
        let block = try #require(page.firstMatch(of: /```swift\n((?s:.*?))```/)).output.1
        let paragraphs = block.split(separator: "\n\n")
        try #require(paragraphs.count == 3)
        #expect(paragraphs[0] == "import ReusePortLB")
        #expect(paragraphs[2] == "try await receive(slot: 0)\n")
        let quote = paragraphs[1] + "\n"
        let here = try Files.source("Tests/ReusePortTests/TutorialTests.swift")
        #expect(here.contains("\n" + quote))
    }

    @Test("when three are cancelled one after the other under load, every byte is counted")
    func runs() async throws {
        let place = try Place()
        let endpoint = try Endpoint.free()
        let root = place.pins.path
        let tasks = (0..<3).map { slot in
            Task { try await collect(slot: slot, at: endpoint, pinRoot: root) }
        }
        let look = try await opened(place)
        try await eventually("all three have joined") { try look.members().count == 3 }
        let spray = try Spray(to: endpoint)
        let sources = IPAddress.v4Sources(250)
        for round in 0..<20 {
            try spray.send(from: sources)
            if round == 6 { tasks[0].cancel() }
            if round == 12 { tasks[1].cancel() }
        }
        tasks[2].cancel()
        var bytes = 0
        for task in tasks { bytes += try await task.value }
        #expect(bytes == 20 * sources.count * "hello".utf8.count)
        #expect(try look.members() == [])
    }

    /// The group, once one of the three has created it.
    private func opened(_ place: Place) async throws -> ReusePortGroup {
        try await eventually("the group is there") {
            (try? ReusePortGroup("netflow", place.options(existingOnly: true))) != nil
        }
        return try ReusePortGroup("netflow", place.options(existingOnly: true))
    }
}
