// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import NIOCore
internal import NIOPosix

/// One question to one server: by UDP, and by TCP when the answer does not fit into a datagram.
struct DNSExchange: Sendable {
    let name: String
    let type: DNSRecordType
    let server: Endpoint
    let timeout: Duration

    func run() async throws(DNSFailure) -> DNSMessage {
        let message = try await ask(byTCP: false)
        return message.isTruncated ? try await ask(byTCP: true) : message
    }

    private func ask(byTCP: Bool) async throws(DNSFailure) -> DNSMessage {
        // A number and a port that nobody can guess: who cannot see the question cannot answer it.
        let id = UInt16.random(in: 0...(.max))
        let question = DNSMessage.question(name, type, id: id)
        do {
            return try await withThrowingTaskGroup(of: DNSMessage.self) { group in
                group.addTask { try await exchange(question, id: id, byTCP: byTCP) }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw DNSFailure(code: "timeout", detail: "no answer within \(timeout)")
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() else { throw CancellationError() }
                return first
            }
        } catch let failure as DNSFailure {
            throw failure
        } catch {
            throw DNSFailure(code: "connection", detail: "\(error)")
        }
    }

    private func exchange(
        _ question: [UInt8], id: UInt16, byTCP: Bool
    ) async throws -> DNSMessage {
        let target = try SocketAddress(ipAddress: "\(server.address)", port: Int(server.port))
        return byTCP
            ? try await stream(question, id: id, target)
            : try await datagram(question, id: id, target)
    }

    /// By a connected socket, so that the kernel lets nobody else answer.
    private func datagram(
        _ question: [UInt8], id: UInt16, _ target: SocketAddress
    ) async throws -> DNSMessage {
        typealias Envelope = AddressedEnvelope<ByteBuffer>
        let channel = try await DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(to: target) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<Envelope, Envelope>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(
                Envelope(remoteAddress: target, data: ByteBuffer(bytes: question)))
            for try await envelope in inbound {
                let bytes = Array(envelope.data.readableBytesView)
                // What cannot be understood, or answers another question, may be somebody's guess.
                if let answer = try? DNSMessage(bytes, to: name, type, id: id) { return answer }
            }
            throw DNSFailure(code: "connection", detail: "closed")
        }
    }

    /// Each message has its length before it (RFC 1035 section 4.2.2).
    private func stream(
        _ question: [UInt8], id: UInt16, _ target: SocketAddress
    ) async throws -> DNSMessage {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(to: target) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var request = ByteBuffer(integer: UInt16(question.count))
            request.writeBytes(question)
            try await outbound.write(request)
            var received = ByteBuffer()
            for try await part in inbound {
                received.writeImmutableBuffer(part)
                guard let length = received.getInteger(at: received.readerIndex, as: UInt16.self),
                    let bytes = received.getBytes(
                        at: received.readerIndex + 2, length: Int(length))
                else { continue }
                guard let answer = try? DNSMessage(bytes, to: name, type, id: id) else { break }
                return answer
            }
            throw DNSFailure(code: "malformed", detail: "no answer by TCP")
        }
    }
}
