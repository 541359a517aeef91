// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Logging
import NIOCore
import NIOPosix
import ReusePortLB
import ServiceLifecycle
import Synchronization
import Testing

// The article on services quotes these types and lines verbatim.

final class CollectorService: Service {
    private let group: ReusePortGroup
    private let socket: ReusePortSocket
    private let slot: Int
    private let handle: @Sendable (DatagramBatch) -> Void

    init(
        _ group: consuming ReusePortGroup, _ socket: consuming ReusePortSocket, slot: Int,
        handle: @escaping @Sendable (DatagramBatch) -> Void
    ) {
        self.group = group
        self.socket = socket
        self.slot = slot
        self.handle = handle
    }

    func run() async throws {
        let datagrams = try group.join(socket, slot: slot).datagrams()
        let handle = handle
        try await cancelWhenGracefulShutdown {
            for try await batch in datagrams { handle(batch) }
        }
    }
}

final class CollectorChannel: Sendable {
    private let socket: ReusePortSocket
    private let membership: Membership
    private let channel: any Channel

    init(
        _ group: borrowing ReusePortGroup, at endpoint: Endpoint, slot: Int,
        _ handler: some ChannelHandler & Sendable
    ) async throws {
        let socket = try ReusePortSocket(boundTo: endpoint)
        // NIO closes the descriptor that it gets; this socket stays open.
        channel = try await DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { $0.pipeline.addHandler(handler) }
            .withBoundSocket(dup(socket.descriptor)).get()
        membership = try group.join(socket, slot: slot)
        self.socket = socket
    }

    /// Ends without loss: returns what NIO has not read.
    func stop() async throws -> DatagramSequence {
        try await channel.close()
        return membership.drain()
    }
}

extension ReusePortTests {
    @Suite("Services")
    struct ServiceTests {}
}

extension ReusePortTests.ServiceTests {
    @Test("the article's types are the compiled ones")
    func quoted() throws {
        let article = try Files.source("Sources/ReusePortLB/ReusePortLB.docc/Services.md")
        let here = try Files.source("Tests/ReusePortTests/ServiceTests.swift")
        let quotes = article.matches(of: /```swift\n((?s:.*?))```/).map(\.output.1)
        #expect(quotes.count == 3)
        for quote in quotes.prefix(2) { #expect(here.contains("\n" + quote)) }
    }

    @Test("a service that shuts down gracefully under load has handled every datagram")
    func service() async throws {
        let endpoint = try Endpoint.free()
        let count = Box()
        let service = CollectorService(
            try ReusePortGroup(private: GroupOptions(count: 1)),
            try ReusePortSocket(boundTo: endpoint, receiveBuffer: Sink.bufferBytes), slot: 0
        ) { batch in count.value.wrappingAdd(batch.count, ordering: .relaxed) }
        let services = ServiceGroup(services: [service], logger: Logger(label: "test"))
        let running = Task { try await services.run() }
        let sender = try Traffic(to: endpoint)
        try await eventually("it receives") {
            sender.send([1])
            return count.value.load(ordering: .relaxed) > 0
        }
        let before = count.value.load(ordering: .relaxed)
        for _ in 0..<500 { #expect(sender.send([2])) }
        await services.triggerGracefulShutdown()
        try await running.value
        #expect(count.value.load(ordering: .relaxed) >= before + 500)
    }

    @Test("what a NIO channel has not read when it closes is drained")
    func channel() async throws {
        let endpoint = try Endpoint.free()
        let count = Box()
        let group = try ReusePortGroup(private: GroupOptions(count: 1))
        let channel = try await CollectorChannel(group, at: endpoint, slot: 0, Counting(count))
        let sender = try Traffic(to: endpoint)
        for _ in 0..<200 { #expect(sender.send([1])) }
        var drained = 0
        for try await batch in try await channel.stop() { drained += batch.count }
        #expect(count.value.load(ordering: .relaxed) + drained == 200)
        #expect(try group.members() == [])
    }
}

private final class Box: Sendable {
    let value = Atomic(0)
}

private final class Counting: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let count: Box

    init(_ count: Box) { self.count = count }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count.value.wrappingAdd(1, ordering: .relaxed)
    }
}
