// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@testable import FanoutControl

@Suite("An echo message", .tags(.unit))
struct EchoMessageTests {
    private let message = EchoMessage(token: 0x0102_0304_0506_0708, nonce: 0xfffe_fdfc_fbfa_f9f8)

    /// What a host makes of a request: the type changes and, with it, the checksum.
    private func reply(_ family: IPAddress.Family) -> [UInt8] {
        var bytes = message.request(family, identifier: 0xabcd)
        bytes[0] = family == .v4 ? 0 : 129
        return bytes
    }

    @Test("is laid out as RFC 792 has it, and its checksum adds up")
    func layout() {
        let bytes = message.request(.v4, identifier: 0xabcd)
        #expect(Array(bytes[0...1]) == [8, 0])
        #expect(Array(bytes[4...7]) == [0xab, 0xcd, 7, 8])
        #expect(
            Array(bytes[8...]) == Array(1...8) + [0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8])
        #expect(EchoMessage.checksum(bytes) == 0)
        #expect(message.request(.v6, identifier: 1)[0] == 128)
    }

    @Test("comes back whole, with an IP header of any length before it or none")
    func roundTrip() {
        #expect(EchoMessage(reply: reply(.v4)[...], .v4, hasIPHeader: false) == message)
        #expect(EchoMessage(reply: reply(.v6)[...], .v6, hasIPHeader: false) == message)
        for words in 5...15 {
            let header = [UInt8(0x40 + words)] + [UInt8](repeating: 0, count: words * 4 - 1)
            let packet = header + reply(.v4)
            #expect(EchoMessage(reply: packet[...], .v4, hasIPHeader: true) == message)
        }
    }

    @Test("is not read from requests, other lengths or the other family")
    func foreign() {
        let request = message.request(.v4, identifier: 1)
        #expect(EchoMessage(reply: request[...], .v4, hasIPHeader: false) == nil)
        #expect(EchoMessage(reply: reply(.v4)[...], .v6, hasIPHeader: false) == nil)
        for length in 0..<24 {
            let short = reply(.v4)[..<length]
            #expect(EchoMessage(reply: short, .v4, hasIPHeader: false) == nil)
            #expect(EchoMessage(reply: short, .v4, hasIPHeader: true) == nil)
        }
        #expect(EchoMessage(reply: (reply(.v4) + [0])[...], .v4, hasIPHeader: false) == nil)
    }
}

@Suite("The queue of deadlines", .tags(.unit))
struct DeadlineQueueTests {
    @Test("gives what is due in the order of time, and keeps the rest")
    func order() {
        var queue = DeadlineQueue<Int>()
        let times = (0..<500).map { ($0 * 7919) % 1009 }
        for time in times { queue.put(time, at: Int64(time)) }
        var taken: [Int] = []
        while let item = queue.take(until: 400) { taken.append(item) }
        #expect(taken == times.filter { $0 <= 400 }.sorted())
        #expect(queue.earliest == times.filter { $0 > 400 }.min().map(Int64.init))
        queue.drop { $0 <= 500 }
        taken += times.filter { (401...500).contains($0) }.sorted()
        #expect(queue.earliest == times.filter { $0 > 500 }.min().map(Int64.init))
        while let item = queue.take(until: .max) { taken.append(item) }
        #expect(taken == times.sorted())
        #expect(queue.isEmpty && queue.earliest == nil)
    }
}
