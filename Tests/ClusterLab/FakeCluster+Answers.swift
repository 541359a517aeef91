// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1

extension FakeCluster {
    /// Answers one request.
    func answer(_ head: HTTPRequestHead, _ channel: any Channel) {
        let request = APIRequest(
            uri: head.uri, authorization: head.headers.first(name: "Authorization"))
        state.withLock { state in
            state.requests.append(request)
            if let index = state.faults.firstIndex(where: { $0.concerns(request) }) {
                let kind = state.faults[index].kind
                state.faults[index].times -= 1
                if state.faults[index].times == 0 { state.faults.remove(at: index) }
                return Self.carryOut(kind, channel)
            }
            if let tokens = state.tokens,
                !tokens.contains(where: { request.authorization == "Bearer \($0)" })
            {
                return Self.refuse(401, "Unauthorized", channel)
            }
            if request.isWatch {
                Self.watch(request, channel, &state)
            } else {
                Self.list(request, channel, state)
            }
        }
    }

    private static func carryOut(_ kind: APIFault.Kind, _ channel: any Channel) {
        switch kind {
        case .status(let code, let reason, let headers):
            refuse(code, reason, headers: headers, channel)
        case .body(let text):
            begin(.ok, channel)
            send(text, channel)
            end(channel)
        case .silence: break
        case .cut: channel.eventLoop.execute { channel.close(promise: nil) }
        }
    }

    static func refuse(
        _ code: Int, _ reason: String, headers: [String: String] = [:], _ channel: any Channel
    ) {
        let cause = reason.isEmpty ? "" : ",\"details\":{\"causes\":[{\"reason\":\"\(reason)\"}]}"
        begin(HTTPResponseStatus(statusCode: code), headers: headers, channel)
        send(
            "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"told so\",\"code\":\(code)\(cause)}",
            channel)
        end(channel)
    }

    /// The page that was asked for; `continue` is the number of the object that it begins with.
    private static func list(_ request: APIRequest, _ channel: any Channel, _ state: State) {
        let all = (state.objects[request.path] ?? [:]).filter {
            $0.value.selected == request.selected
        }.sorted { $0.key < $1.key }
        let first = Int(request.query["continue"] ?? "") ?? 0
        let limit = Int(request.query["limit"] ?? "") ?? .max
        let page = all.dropFirst(first).prefix(limit)
        let rest = all.count - first - page.count
        let next = rest > 0 ? ",\"continue\":\"\(first + page.count)\"" : ""
        // An empty list is null here, as Go may write it.
        let items = page.map { versioned($0.value.json, $0.value.version) }
        let list = items.isEmpty ? "null" : "[" + items.joined(separator: ",") + "]"
        begin(.ok, channel)
        send(
            "{\"metadata\":{\"resourceVersion\":\"\(state.version)\"\(next)},\"items\":\(list)}",
            channel)
        end(channel)
    }

    private static func watch(
        _ request: APIRequest, _ channel: any Channel, _ state: inout State
    ) {
        guard let version = Int(request.query["resourceVersion"] ?? "") else {
            return refuse(400, "", channel)
        }
        if version > state.version { return refuse(504, "ResourceVersionTooLarge", channel) }
        begin(.ok, channel)
        if version < state.oldest {
            send(
                "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                    + "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n", channel
            )
            return end(channel)
        }
        let missed = state.events.filter {
            $0.version > version && $0.path == request.path && $0.selected == request.selected
        }
        for event in missed { send(event.line, channel) }
        state.watches.append(
            Watch(channel: channel, path: request.path, selected: request.selected))
    }

    func forget(_ channel: any Channel) {
        state.withLock { state in
            state.watches.removeAll { $0.channel === channel }
            state.connections.removeAll { $0 === channel }
        }
    }
}

/// Takes the requests of one connection.
final class APIHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private weak var cluster: FakeCluster?
    private var head: HTTPRequestHead?

    init(_ cluster: FakeCluster?) { self.cluster = cluster }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            if let head { cluster?.answer(head, context.channel) }
            head = nil
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        cluster?.forget(context.channel)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A client that rejects the server's certificate sends an alert; its own test checks that.
        context.close(promise: nil)
    }
}
