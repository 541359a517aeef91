// SPDX-License-Identifier: Apache-2.0

import CLibMNL
import Testing
import Tiers

@testable import KernelForwarding

/// Rare kernel messages, made by the tests.
@Suite("A reply of netlink", .tags(.unit))
struct AnswerTests {
    private static func message(
        _ type: Int32, flags: Int32 = 0, sequence: UInt32 = 7, port: UInt32 = 9, body: [UInt8] = []
    ) -> NetlinkMessage {
        NetlinkMessage(type: type, flags: flags, sequence: sequence, port: port, body: body)
    }

    private static func taking(_ messages: [NetlinkMessage]) -> (Answer, [Answer.Progress]) {
        var answer = Answer(sequence: 7, port: 9)
        let progress = messages.map { answer.take($0) }
        return (answer, progress)
    }

    @Test("of one message is complete with it")
    func single() {
        let (answer, progress) = Self.taking([Self.message(16)])
        #expect(progress == [.whole])
        #expect(answer.messages.count == 1)
    }

    @Test("of several parts is complete at its end")
    func parts() {
        let (answer, progress) = Self.taking([
            Self.message(16, flags: NLM_F_MULTI), Self.message(16, flags: NLM_F_MULTI),
            Self.message(NLMSG_DONE, flags: NLM_F_MULTI, body: [0, 0, 0, 0]),
        ])
        #expect(progress == [.more, .more, .whole])
        #expect(answer.messages.count == 2)
    }

    @Test(
        "is inconsistent at its end when any part reports a changed table",
        arguments: 0..<3)
    func interrupted(part: Int) {
        let messages = [16, 16, NLMSG_DONE].enumerated().map { index, type in
            Self.message(
                type, flags: NLM_F_MULTI | (index == part ? NLM_F_DUMP_INTR : 0),
                body: [0, 0, 0, 0])
        }
        #expect(Self.taking(messages).1 == [.more, .more, .inconsistent])
    }

    @Test("leaves out messages of another request or socket, and empty ones")
    func foreign() {
        let (answer, progress) = Self.taking([
            Self.message(16, sequence: 6), Self.message(16, port: 8), Self.message(NLMSG_NOOP),
            Self.message(NLMSG_ERROR, sequence: 6, body: [0xff, 0xff, 0xff, 0xff]),
            Self.message(NLMSG_DONE, flags: NLM_F_DUMP_INTR, sequence: 6),
        ])
        #expect(progress == [.more, .more, .more, .more, .more])
        #expect(answer.messages.isEmpty)
    }

    /// An attribute with the kernel's message.
    private static func sentence(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8) + [0]
        let padding = [UInt8](repeating: 0, count: -bytes.count & 3)
        return [UInt8(bytes.count + 4), 0, UInt8(NLMSGERR_ATTR_MSG.rawValue), 0] + bytes + padding
    }

    private static let invalid = [UInt8](of: Int32(-22))

    @Test("that is an error has the kernel's message, after a full, truncated or missing request")
    func sentences() {
        var header = nlmsghdr()
        header.nlmsg_len = 32
        let request = [UInt8](of: header)
        let cases: [(Int32, Int32, [UInt8])] = [
            (NLMSG_ERROR, NLM_F_CAPPED, request),
            (NLMSG_ERROR, 0, request + [UInt8](repeating: 0xaa, count: 16)),
            (NLMSG_DONE, NLM_F_MULTI, []),
        ]
        for (type, flags, between) in cases {
            let body = Self.invalid + between + Self.sentence("No device there")
            let message = Self.message(type, flags: flags | NLM_F_ACK_TLVS, body: body)
            #expect(Self.taking([message]).1 == [.refused(22, "No device there")])
        }
    }

    @Test("that is an error without a message, or truncated, still has its errno")
    func cut() {
        #expect(
            Self.taking([Self.message(NLMSG_ERROR, body: Self.invalid)]).1 == [.refused(22, nil)])
        var header = nlmsghdr()
        header.nlmsg_len = .max
        let body = Self.invalid + [UInt8](of: header) + Self.sentence("No device there")
        for flags in [NLM_F_ACK_TLVS, NLM_F_ACK_TLVS | NLM_F_CAPPED] {
            for length in 4..<body.count {
                let message = Self.message(NLMSG_ERROR, flags: flags, body: Array(body[..<length]))
                #expect(Self.taking([message]).1 == [.refused(22, nil)])
            }
        }
    }

    @Test("truncated anywhere is read without a trap, or not at all")
    func cutMessages() throws {
        var header = ifinfomsg()
        header.ifi_index = 5
        let name: [UInt8] = [9, 0, UInt8(IFLA_IFNAME), 0] + Array("near".utf8) + [0, 0, 0, 0]
        let mtu: [UInt8] = [8, 0, UInt8(IFLA_MTU), 0, 0xdc, 5, 0, 0]
        // Impossible attribute lengths: zero, less than a header, beyond the message.
        for wrong: [UInt8] in [[], [0, 0, 1, 0], [3, 0, 1, 0], [0xff, 0xff, 1, 0]] {
            let body = [UInt8](of: header) + name + mtu + wrong
            let link = try #require(NetworkLink(Self.message(Int32(RTM_NEWLINK), body: body)))
            #expect(link.name == "near" && link.mtu == 1500 && link.index == 5)
            for length in 0..<body.count {
                let message = Self.message(Int32(RTM_NEWLINK), body: Array(body[..<length]))
                #expect((NetworkLink(message) == nil) == (length < 16))
            }
        }
    }

    @Test("about a proxied address, or of a bridge, is no neighbour event")
    func proxy() {
        func neighbour(_ family: UInt8, flags: UInt8) -> Neighbour? {
            var header = ndmsg()
            header.ndm_family = family
            header.ndm_flags = flags
            let address: [UInt8] = [8, 0, UInt8(NDA_DST), 0, 10, 0, 0, 5]
            return Neighbour(
                Self.message(Int32(RTM_NEWNEIGH), body: [UInt8](of: header) + address))
        }
        #expect(neighbour(2, flags: 0)?.address.description == "10.0.0.5")
        #expect(neighbour(2, flags: UInt8(NTF_PROXY)) == nil)
        #expect(neighbour(7, flags: 0) == nil)  // AF_BRIDGE
    }

    @Test("about a bridge's port is no link event")
    func bridgePort() {
        var header = ifinfomsg()
        header.ifi_index = 5
        #expect(NetlinkEvent(Self.message(Int32(RTM_DELLINK), body: [UInt8](of: header))) != nil)
        header.ifi_family = 7  // AF_BRIDGE
        #expect(NetlinkEvent(Self.message(Int32(RTM_DELLINK), body: [UInt8](of: header))) == nil)
    }
}
