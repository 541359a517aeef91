// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// Handles the requests of one connection, one after another. Runs on the event loop.
///
/// The preceding pipeline handler suspends reading until the end of a response is written. That happens once the
/// client has taken the response, so a client that does not read costs one response.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let connection: Connection
    private let scrapes: ScrapeQueue
    private let metricsPath: String
    private let names: ServerNames
    private let liveness: @Sendable () -> String?
    private let readiness: @Sendable () async -> String?
    private var request: HTTPRequestHead?
    private var context: ChannelHandlerContext?
    /// Whether the last response was given; further input is ignored.
    private var isDone = false

    init(_ connection: Connection, shared: MetricsServer.Shared) {
        self.connection = connection
        scrapes = shared.scrapes
        metricsPath = shared.path
        names = shared.names
        liveness = shared.liveness
        readiness = shared.readiness
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        isDone = true
        scrapes.forget(connection)
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            request = head
            // Refused before the body, which is never read. A client that waits for permission to send one (Expect:
            // 100-continue) learns it in time.
            if head.announcesBody { respond(refusal(of: head)) }
        case .body: break
        case .end: if let request { answer(request) }
        }
    }

    private func refusal(of head: HTTPRequestHead) -> Response {
        connection.endsAfterAnswer = true
        return head.method == .GET || head.method == .HEAD ? .bodyRefused : .methodNotAllowed
    }

    private func answer(_ request: HTTPRequestHead) {
        // After a request to upgrade, the parser takes no further request.
        if !request.isKeepAlive || request.headers.contains(name: "upgrade") {
            connection.endsAfterAnswer = true
        }
        guard request.hasProperHost else {
            connection.endsAfterAnswer = true
            return respond(.hostMissing)
        }
        switch Route(method: request.method, target: request.uri, metricsPath: metricsPath) {
        case .document(let document)
        where document != .metrics && !names.take(request.headers["host"].first):
            respond(.hostUnknown)
        case .document(let document):
            connection.enter(.answering)
            scrapes.scrape(document, for: connection) { [weak self] in self?.respond($0) }
        case .health: respond(.liveness(liveness()))
        case .readiness: answerReadiness()
        case .notFound: respond(.notFound)
        case .methodNotAllowed:
            // The parser is done with a connection once it has seen CONNECT.
            if request.method == .CONNECT { connection.endsAfterAnswer = true }
            respond(.methodNotAllowed)
        }
    }

    private func answerReadiness() {
        guard let context else { return }
        connection.enter(.answering)
        if let hang = liveness() { return respond(.readiness(hang)) }
        let readiness = readiness
        context.eventLoop.makeFutureWithTask { await readiness() }.assumeIsolated()
            .whenSuccess { [weak self] in self?.respond(.readiness($0)) }
    }

    // MARK: - Answers

    private func respond(_ response: Response) {
        guard let context, !isDone, context.channel.isActive else { return }
        isDone = response.endsConnection || connection.endsAfterAnswer
        connection.enter(.writing)
        let head = response.head(for: request, closing: isDone)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        let body = request?.method == .HEAD ? ByteBuffer() : response.body
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { self.finish() }
        if isDone {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
        } else {
            context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: written)
        }
    }

    /// The response was sent. Continues in a new loop iteration: a chain of pipelined requests would otherwise
    /// recurse.
    private func finish() {
        context?.eventLoop.assumeIsolated().execute { [weak self] in
            guard let self, let context = self.context else { return }
            if self.isDone || self.connection.endsAfterAnswer {
                self.endConnection(context)
            } else {
                self.connection.enter(.idle)
                context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }

    /// Closes our side and gives the client time to read and to close its side.
    private func endConnection(_ context: ChannelHandlerContext) {
        if !isDone {
            // The decision came after the header: the end of the response must still be sent, or the pipeline would
            // keep reading suspended.
            isDone = true
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
        connection.enter(.lingering)
        if connection.inputEnded {
            connection.close()
        } else {
            context.close(mode: .output, promise: nil)
        }
    }

    // MARK: - Events

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is Connection.AnswerOverdue: respond(.overdue)
        case ChannelEvent.inputClosed: inputClosed()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// A client may close its side right after the request and still expects the response.
    private func inputClosed() {
        switch connection.phase {
        case .answering, .writing: connection.endsAfterAnswer = true
        case .idle, .receiving, .lingering: connection.close()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else {
            context.close(promise: nil)
            return
        }
        request = nil
        respond(error == .headerOverflow ? .headerTooLarge : .malformed)
    }
}

extension HTTPRequestHead {
    /// Whether it has exactly one Host header, as HTTP/1.1 requires (RFC 9112, section 3.2); older versions have
    /// none.
    fileprivate var hasProperHost: Bool {
        let count = headers["host"].count
        return count == 1 || (count == 0 && version == .http1_0)
    }

    /// Whether bytes follow the header (RFC 9112, section 6.3).
    fileprivate var announcesBody: Bool {
        headers.contains(name: "transfer-encoding")
            || headers["content-length"].contains { $0 != "0" }
    }
}
