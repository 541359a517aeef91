// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOHTTP1

/// One client: its phase, the deadline of the phase, and the bytes received.
///
/// First in the channel's pipeline, before decoding. Runs on the event loop.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    enum Phase {
        /// Waiting for the first byte of a request.
        case idle
        /// A request has begun.
        case receiving
        /// A request is complete; its response is being prepared.
        case answering
        /// The response is being sent.
        case writing
        /// The last response was sent; further input is discarded until the client closes.
        case lingering
    }

    /// Sent down the pipeline if `answering` exceeds its limit.
    struct AnswerOverdue {}

    private(set) var phase = Phase.idle
    private(set) var since = NIODeadline.now()
    /// Whether the client has closed its side.
    private(set) var inputEnded = false
    /// Whether the current response is the last.
    var endsAfterAnswer = false

    private let channel: any Channel
    private let table: ConnectionTable
    private let limits: MetricsServer.Limits
    private var deadline: Scheduled<Void>?
    private var hasBeenAnswered = false
    /// Since the end of the last response.
    private var receivedBytes = 0

    init(_ channel: any Channel, table: ConnectionTable, limits: MetricsServer.Limits) {
        self.channel = channel
        self.table = table
        self.limits = limits
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // A new client must send a complete request in time, starting from the connection.
        expect(within: limits.requestTime)
    }

    /// Closes the connection at once, and discards unsent data in the kernel, which would otherwise keep up to a
    /// send buffer for minutes.
    func close() {
        if phase == .writing, let socket = channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        channel.close(promise: nil)
    }

    // MARK: - Phases

    /// Enters a phase with its time limit.
    func enter(_ next: Phase) {
        phase = next
        since = .now()
        switch next {
        case .idle:
            hasBeenAnswered = true
            receivedBytes = 0
            expect(within: limits.idleTime)
        case .receiving: if hasBeenAnswered { expect(within: limits.requestTime) }
        case .answering, .writing: expect(within: limits.answerTime)
        case .lingering: expect(within: limits.lingerTime)
        }
    }

    /// Closes the connection unless it enters another phase in time.
    private func expect(within time: Duration) {
        deadline?.cancel()
        deadline = channel.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) {
            self.overdue()
        }
    }

    private func overdue() {
        switch phase {
        case .answering:
            channel.pipeline.syncOperations.fireUserInboundEventTriggered(AnswerOverdue())
        case .idle, .receiving, .writing, .lingering: close()
        }
    }

    /// How expendable the connection is if another needs room; the smallest value goes first. Nil: it must not be
    /// closed.
    var expendability: (rank: Int, since: NIODeadline)? {
        switch phase {
        case .lingering: (0, since)
        // A client that never sent a complete request is most likely not a scraper.
        case .idle, .receiving: (hasBeenAnswered ? 2 : 1, since)
        case .writing: NIODeadline.now() - since > TimeAmount(limits.stallTime) ? (3, since) : nil
        // The daemon has to respond first: the client is not at fault.
        case .answering: nil
        }
    }

    // MARK: - Channel

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .lingering else { return }
        receivedBytes += Self.unwrapInboundIn(data).readableBytes
        guard receivedBytes <= limits.requestBytes else {
            refuseFurtherBytes(context)
            return
        }
        if phase == .idle { enter(.receiving) }
        context.fireChannelRead(data)
    }

    /// The parser never sees bytes beyond the limit.
    private func refuseFurtherBytes(_ context: ChannelHandlerContext) {
        switch phase {
        case .idle, .receiving:
            if !endsAfterAnswer { context.fireErrorCaught(HTTPParserError.headerOverflow) }
        case .answering, .writing, .lingering: endsAfterAnswer = true
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { inputEnded = true }
        context.fireUserInboundEventTriggered(event)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        table.remove(self)
    }
}
