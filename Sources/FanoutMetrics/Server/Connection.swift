// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOHTTP1

/// One client: how far it is, by when it must be further, and how many bytes it has sent.
///
/// Stands first in the channel's pipeline, where bytes are still bytes. Lives on the event loop.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    enum Phase {
        /// No byte of the next request has come.
        case idle
        /// A request has begun.
        case receiving
        /// A request is complete; its answer is being made.
        case answering
        /// The answer is on its way to the client.
        case writing
        /// The last answer is out; whatever still comes is thrown away until the client closes.
        case lingering
    }

    /// Sent down the pipeline when `answering` has lasted too long.
    struct AnswerOverdue {}

    private(set) var phase = Phase.idle
    private(set) var since = NIODeadline.now()
    /// Whether the client has closed its side: nothing more can come.
    private(set) var inputEnded = false
    /// Whether the answer under way is the last one.
    var endsAfterAnswer = false

    private let channel: any Channel
    private let table: ConnectionTable
    private let limits: MetricsServer.Limits
    private var deadline: Scheduled<Void>?
    private var hasBeenAnswered = false
    /// Since the last answer's end.
    private var receivedBytes = 0

    init(_ channel: any Channel, table: ConnectionTable, limits: MetricsServer.Limits) {
        self.channel = channel
        self.table = table
        self.limits = limits
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // A new client must send a whole request in time: it has no first byte to wait for.
        expect(within: limits.requestTime)
    }

    /// Ends the connection at once. What a client has left unread is taken back from the kernel as
    /// well, which would otherwise keep up to a send buffer of it for minutes.
    func close() {
        if phase == .writing, let socket = channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        channel.close(promise: nil)
    }

    // MARK: - Phases

    /// Enters a phase, which must end within its limit.
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

    /// How little is lost with this connection, for one that must make room; the smallest value goes
    /// first. nil: it may not be closed.
    var expendability: (rank: Int, since: NIODeadline)? {
        switch phase {
        case .lingering: (0, since)
        // What has never sent a whole request is most likely not a scraper.
        case .idle, .receiving: (hasBeenAnswered ? 2 : 1, since)
        case .writing: NIODeadline.now() - since > TimeAmount(limits.stallTime) ? (3, since) : nil
        // The daemon owes the answer: the wait is not the client's fault.
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

    /// The parser never sees the bytes beyond the limit.
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
