// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOHTTP1

extension FakeCluster {
    /// Adds or replaces an EndpointSlice.
    public func put(_ slices: Slice...) throws { for slice in slices { try put(slice: slice) } }

    private func put(slice: Slice) throws {
        let service = slice.metadata.labels["kubernetes.io/service-name"] ?? ""
        let json = String(decoding: try JSONEncoder().encode(slice), as: UTF8.self)
        put(Slice.path, slice.metadata.name, selected: service, json)
    }

    /// Adds or replaces a service with these addresses of a load balancer.
    public func put(service: String, ingress: [String]) {
        let list = ingress.map { "{\"ip\":\"\($0)\"}" }.joined(separator: ",")
        let json =
            "{\"metadata\":{\"name\":\"\(service)\",\"resourceVersion\":\"\"},"
            + "\"status\":{\"loadBalancer\":{\"ingress\":[\(list)]}}}"
        put("/api/v1/namespaces/default/services", service, selected: service, json)
    }

    private func put(_ path: String, _ name: String, selected: String, _ json: String) {
        state.withLock { state in
            state.version += 1
            let isNew = state.objects[path]?[name] == nil
            state.objects[path, default: [:]][name] = (selected, json, state.version)
            let object = Self.versioned(json, state.version)
            Self.emit(isNew ? "ADDED" : "MODIFIED", object, path, selected, &state)
        }
    }

    /// Deletes a slice, or takes its label away: a watch by label shows both alike.
    public func remove(_ name: String) {
        state.withLock { state in
            state.version += 1
            guard let old = state.objects[Slice.path]?.removeValue(forKey: name) else { return }
            let object = Self.versioned(old.json, state.version)
            Self.emit("DELETED", object, Slice.path, old.selected, &state)
        }
    }

    /// Sends the current version to every watch.
    public func bookmark() {
        state.withLock { state in
            state.version += 1
            let object =
                "{\"kind\":\"EndpointSlice\",\"metadata\":{\"resourceVersion\":\"\(state.version)\","
                + "\"creationTimestamp\":null},\"addressType\":\"\",\"endpoints\":null,\"ports\":null}"
            let line = "{\"type\":\"BOOKMARK\",\"object\":\(object)}\n"
            for watch in state.watches { Self.send(line, watch.channel) }
        }
    }

    /// Sends these bytes to every watch.
    public func say(_ bytes: String) {
        state.withLock { for watch in $0.watches { Self.send(bytes, watch.channel) } }
    }

    /// Ends every watch in order, as it does when their time is over.
    public func endWatches() {
        state.withLock { state in
            for watch in state.watches { Self.end(watch.channel) }
            state.watches = []
        }
    }

    /// Forgets the history before the current version.
    public func compact() {
        state.withLock { state in
            state.version += 1
            state.oldest = state.version
            state.events = []
        }
    }

    /// Moves to another version, as after a restored backup.
    public func jump(to version: Int) {
        state.withLock { state in
            state.version = version
            state.oldest = 0
            state.events = []
        }
    }

    public var version: Int { state.withLock { $0.version } }

    // MARK: Inside

    static func versioned(_ json: String, _ version: Int) -> String {
        json.replacing("\"resourceVersion\":\"\"", with: "\"resourceVersion\":\"\(version)\"")
    }

    private static func emit(
        _ type: String, _ object: String, _ path: String, _ selected: String, _ state: inout State
    ) {
        let line = "{\"type\":\"\(type)\",\"object\":\(object)}\n"
        state.events.append(
            Event(version: state.version, path: path, selected: selected, line: line))
        for watch in state.watches where watch.path == path && watch.selected == selected {
            send(line, watch.channel)
        }
    }

    /// Sends on the event loop, so that no handler runs while the caller holds the lock.
    static func send(_ text: String, _ channel: any Channel) {
        channel.eventLoop.execute {
            let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text)))
            channel.writeAndFlush(part, promise: nil)
        }
    }

    static func begin(
        _ status: HTTPResponseStatus, headers: [String: String] = [:], _ channel: any Channel
    ) {
        channel.eventLoop.execute {
            var fields = HTTPHeaders([("Content-Type", "application/json")])
            for (name, value) in headers { fields.add(name: name, value: value) }
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
            channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
        }
    }

    static func end(_ channel: any Channel) {
        channel.eventLoop.execute {
            channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        }
    }
}
