// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension PublisherTests {
    @Suite("Messages")
    struct MessageTests {}
}

extension PublisherTests.MessageTests {
    @Test("five messages are sent, one a second, the first at once, numbered from 0")
    func five() async throws {
        let sink = try Sink()
        let run = try await PublisherRun("5", to: sink.endpoint)
        #expect(run.code == 0 && run.errors == [])
        try await eventually("five datagrams") { sink.count == 5 }
        let texts = sink.datagrams.map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(texts == (0..<5).map { "Hello World \($0)!" })
        let said = (0..<5).map { "sent Hello World \($0)! to \(sink.endpoint) from 127.0.0.1" }
        #expect(Array(run.output.dropLast()) == said)
        let report = try #require(run.output.last)
        #expect(
            report.hasPrefix(
                "sent 5 of 5 datagrams, 70 bytes, from 1 source to \(sink.endpoint) in 4."),
            "\(report)")
    }

    @Test("on IPv6 they are the same")
    func six() async throws {
        let sink = try Sink(on: .loopback6)
        let run = try await PublisherRun("3 --rate 10", to: sink.endpoint)
        try await eventually("three datagrams") { sink.count == 3 }
        #expect(try sink.numbers() == [.loopback6: [0, 1, 2]])
        #expect(run.output.first == "sent Hello World 0! to \(sink.endpoint) from ::1")
    }

    @Test(
        "--size pads every message with spaces, up to the largest that IP carries",
        arguments: [
            (IPAddress.loopback, 14), (.loopback, 64), (.loopback, 1400), (.loopback, 65_507),
            (.loopback6, 14), (.loopback6, 65_487),
        ])
    func sizes(address: IPAddress, size: Int) async throws {
        let sink = try Sink(on: address)
        let run = try await PublisherRun("10 --rate 0 --json --size \(size)", to: sink.endpoint)
        #expect(try run.report.bytes == UInt64(10 * size))
        try await eventually("ten datagrams") { sink.count == 10 }
        for (number, datagram) in sink.datagrams.enumerated() {
            let text = "Hello World \(number)!"
            let expected = Array(text.utf8) + [UInt8](repeating: 32, count: size - text.utf8.count)
            let isRight = datagram.payload == expected
            #expect(isRight, "\(datagram.payload.count) bytes: \(datagram.payload.prefix(20))")
        }
    }

    @Test("longer numbers move the exclamation mark, also where the size is just enough")
    func digits() async throws {
        let sink = try Sink()
        let run = try await PublisherRun("1001 --rate 0 --json --size 17", to: sink.endpoint)
        #expect(try run.report.sent == 1001)
        try await eventually("all datagrams") { sink.count == 1001 }
        let isInOrder = try sink.numbers()[.loopback]?.elementsEqual(0...1000)
        #expect(isInOrder == true)
        #expect(Set(sink.datagrams.map(\.payload.count)) == [17])
    }

    @Test("--quiet prints only the report; --json sends messages to standard error")
    func streams() async throws {
        let sink = try Sink()
        let quiet = try await PublisherRun("2 --rate 10 --quiet", to: sink.endpoint)
        #expect(quiet.output.count == 1 && quiet.errors == [])
        let json = try await PublisherRun("2 --rate 10 --json", to: sink.endpoint)
        #expect(try json.report.sent == 2)
        #expect(
            json.errors.map { $0.prefix(19) } == ["sent Hello World 0!", "sent Hello World 1!"])
        let both = try await PublisherRun("2 --rate 10 --json --quiet", to: sink.endpoint)
        #expect(try both.report.sent == 2)
        #expect(both.errors == [])
    }
}
