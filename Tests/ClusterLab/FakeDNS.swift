// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
import LabNet
import NIOCore
import NIOPosix
import Synchronization

/// A DNS server on loopback, over UDP and TCP, with the records that a test sets.
public final class FakeDNS: Sendable {
    public struct Record: Sendable {
        let name: String
        let type: UInt16
        let ttl: UInt32
        let data: [UInt8]

        public static func address(_ name: String, _ text: String, ttl: UInt32 = 0) -> Record {
            let address = IPAddress(text) ?? .loopback
            let words =
                address.family == .v4
                ? FakeDNS.bytes(address.v4)
                : [address.high, address.low].flatMap { word in
                    stride(from: 56, through: 0, by: -8).map { UInt8(word >> $0 & 0xff) }
                }
            return Record(name: name, type: address.family == .v4 ? 1 : 28, ttl: ttl, data: words)
        }

        public static func alias(_ name: String, to target: String, ttl: UInt32 = 0) -> Record {
            Record(name: name, type: 5, ttl: ttl, data: FakeDNS.encoded(target))
        }

        public static func service(
            _ name: String, _ target: String, port: UInt16, priority: UInt16 = 0,
            weight: UInt16 = 1, ttl: UInt32 = 0
        ) -> Record {
            let numbers = [priority, weight, port].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
            return Record(name: name, type: 33, ttl: ttl, data: numbers + FakeDNS.encoded(target))
        }
    }

    public struct State {
        public var records: [Record] = []
        public var code: UInt8 = 0
        /// Which questions, by name and type, get SERVFAIL.
        public var fails: @Sendable (String, UInt16) -> Bool = { _, _ in false }
        public var isSilent = false
        /// Replies over UDP are truncated.
        public var truncates = false
        /// Two forged replies precede the real one: one with another ID, one to another question.
        public var isForged = false
        /// Questions with EDNS get FORMERR.
        public var isOld = false
        /// Changes a reply before it is sent.
        public var spoils: @Sendable ([UInt8]) -> [UInt8] = { $0 }
        /// Every reply contains all records.
        public var answersAlways = false
        public var questions:
            [(name: String, type: UInt16, byTCP: Bool, at: ContinuousClock.Instant)] = []
    }

    private let state = Mutex(State())
    private let udp: any Channel
    private let tcp: any Channel
    public let endpoint: Endpoint

    public init(host: String = "127.0.0.1", port: Int = 0) throws {
        let box = Box()
        udp = try DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramHandler(box))
                }
            }.bind(host: host, port: port).wait()
        let port = udp.localAddress?.port ?? 0
        tcp = try ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(StreamHandler(box))
                }
            }.bind(host: host, port: port).wait()
        endpoint = Endpoint(IPAddress(host) ?? .loopback, port: UInt16(port))
        box.server.withLock { $0 = Weak(server: self) }
    }

    deinit {
        udp.close(promise: nil)
        tcp.close(promise: nil)
    }

    public func set(_ records: [Record]) { state.withLock { $0.records = records } }
    public func fail(code: UInt8) { state.withLock { $0.code = code } }
    public func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    public var questions: [(name: String, type: UInt16, byTCP: Bool, at: ContinuousClock.Instant)] {
        state.withLock { $0.questions }
    }

    struct Weak: Sendable { weak let server: FakeDNS? }
    final class Box: Sendable { let server = Mutex<Weak?>(nil) }

    /// The answers to a question, in the order in which they are sent.
    func answers(to question: [UInt8], byTCP: Bool) -> [[UInt8]] {
        guard let end = question.dropFirst(12).firstIndex(of: 0), end + 4 < question.count else {
            return []
        }
        let name = Self.decoded(Array(question[12..<end]))
        let type = UInt16(question[end + 1]) << 8 | UInt16(question[end + 2])
        return state.withLock { state in
            state.questions.append((name, type, byTCP, .now))
            if state.isSilent { return [] }
            let truncated = state.truncates && !byTCP
            var found: [Record] = []
            var wanted: Set = [name]
            for record in state.records where wanted.contains(record.name) {
                if record.type == 5 { wanted.insert(Self.decoded(record.data)) }
                if record.type == 5 || record.type == type { found.append(record) }
            }
            if state.answersAlways { found = state.records }
            let isKnown = state.answersAlways || state.records.contains { $0.name == name }
            var code = state.code == 0 && !isKnown ? 3 : state.code
            if state.fails(name, type) { code = 2 }
            if state.isOld, question[11] > 0 { code = 1 }
            if truncated || code != 0 { found = [] }
            func message(
                id: [UInt8], _ records: [Record], to asked: ArraySlice<UInt8> = question[12...end]
            ) -> [UInt8] {
                let flags: [UInt8] = [truncated ? 0x87 : 0x85, 0x80 | code]
                let absence = records.isEmpty ? Self.absence : []
                let counts: [UInt8] = [
                    0, 1, 0, UInt8(records.count), 0, absence.isEmpty ? 0 : 1, 0, 0,
                ]
                return id + flags + counts + asked + question[(end + 1)..<(end + 5)]
                    + records.flatMap(Self.wire) + absence
            }
            let own = Array(question[0..<2])
            let answer = state.spoils(message(id: own, found))
            guard state.isForged else { return [answer] }
            let lie = [Record.address(name, "6.6.6.6")]
            return [
                message(id: [own[0] ^ 1, own[1]], lie),
                message(id: own, lie, to: Self.encoded("evil.example")[...]), answer,
            ]
        }
    }

    /// An SOA record of the root with a negative TTL of 0.
    private static let absence: [UInt8] =
        [0, 0, 6, 0, 1, 0, 0, 1, 0, 0, 22] + Array(repeating: 0, count: 22)

    private static func wire(_ record: Record) -> [UInt8] {
        encoded(record.name) + [0, UInt8(record.type), 0, 1] + bytes(record.ttl)
            + [0, UInt8(record.data.count)] + record.data
    }

    fileprivate static func bytes(_ word: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(word >> $0 & 0xff) }
    }

    fileprivate static func encoded(_ name: String) -> [UInt8] {
        name.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    private static func decoded(_ bytes: [UInt8]) -> String {
        var labels: [String] = []
        var rest = bytes[...]
        while let count = rest.popFirst(), count > 0 {
            labels.append(String(decoding: rest.prefix(Int(count)), as: UTF8.self))
            rest = rest.dropFirst(Int(count))
        }
        return labels.joined(separator: ".")
    }
}

private final class DatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>
    private let box: FakeDNS.Box

    init(_ box: FakeDNS.Box) { self.box = box }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let server = box.server.withLock { $0?.server }
        for answer in server?.answers(to: Array(envelope.data.readableBytesView), byTCP: false)
            ?? []
        {
            let reply = AddressedEnvelope(
                remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: answer))
            context.writeAndFlush(wrapOutboundOut(reply), promise: nil)
        }
    }
}

private final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let box: FakeDNS.Box

    init(_ box: FakeDNS.Box) { self.box = box }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let question = Array(unwrapInboundIn(data).readableBytesView.dropFirst(2))
        let server = box.server.withLock { $0?.server }
        guard let answer = server?.answers(to: question, byTCP: true).last else { return }
        // In two parts, as may happen over TCP.
        var buffer = ByteBuffer(integer: UInt16(answer.count))
        buffer.writeBytes(answer.prefix(5))
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        let rest = ByteBuffer(bytes: answer.dropFirst(5))
        context.writeAndFlush(wrapOutboundOut(rest), promise: nil)
    }
}
