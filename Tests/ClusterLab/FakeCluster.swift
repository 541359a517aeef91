// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// An API server that contains what a test puts into it. It lists in pages, watches from a version, and fails on
/// request as a real server (1.36) does.
public final class FakeCluster: Sendable {
    struct Watch {
        let channel: any Channel
        let path: String
        let selected: String
    }

    struct Event {
        let version: Int
        let path: String
        let selected: String
        let line: String
    }

    struct State {
        var version = 100
        /// Older versions are not kept.
        var oldest = 0
        /// By path and name; the value is JSON without its version.
        var objects: [String: [String: (selected: String, json: String, version: Int)]] = [:]
        var events: [Event] = []
        var watches: [Watch] = []
        var requests: [APIRequest] = []
        var faults: [APIFault] = []
        var tokens: Set<String>?
        var server: (any Channel)?
        var connections: [any Channel] = []
    }

    public let identity: Identity
    public let address: String
    let state = Mutex(State())
    private let group: MultiThreadedEventLoopGroup
    private let tls: NIOSSLContext
    private let boundPort = Mutex<Int>(0)

    /// Starts it. Its thread, and so its sockets, are in the network of the calling thread.
    ///
    /// - Parameters:
    ///   - tokens: the accepted tokens; nil: no token is required.
    ///   - asksForCertificate: whether clients must show a certificate.
    public init(
        _ identity: Identity, address: String = "127.0.0.1", tokens: Set<String>? = nil,
        asksForCertificate: Bool = false
    ) throws {
        self.identity = identity
        self.address = address
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.serverCertificate)
                .map { .certificate($0) },
            privateKey: .privateKey(
                try NIOSSLPrivateKey(file: identity.serverKey, format: .pem)))
        if asksForCertificate {
            tls.trustRoots = .file(identity.authority)
            tls.certificateVerification = .noHostnameVerification
        }
        self.tls = try NIOSSLContext(configuration: tls)
        state.withLock { $0.tokens = tokens }
        // Below the kernel's ephemeral range: a client that retries a port of that range while no socket listens
        // may connect to itself and occupy the port.
        for attempt in 1... {
            boundPort.withLock { $0 = Int.random(in: 30_000..<32_000) }
            do {
                try start()
                break
            } catch  where attempt < 20 {
                continue
            }
        }
    }

    // Not awaited: the last reference may be dropped on one of its own threads.
    deinit { group.shutdownGracefully { _ in } }

    public var port: Int { boundPort.withLock { $0 } }
    public var url: String { "https://\(address):\(port)" }

    /// Listens again at the same port.
    public func start() throws {
        let tls = tls
        let socket = try ListeningSocket.open(address, port)
        let server = try ServerBootstrap(group: group)
            .childChannelInitializer { [weak self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLServerHandler(context: tls))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(APIHandler(self))
                    self?.state.withLock { $0.connections.append(channel) }
                }
            }
            .withBoundSocket(socket).wait()
        state.withLock { $0.server = server }
    }

    /// Closes the socket and every connection, until `start`.
    public func stop() async {
        let (server, connections) = state.withLock { state in
            defer {
                state.server = nil
                state.connections = []
                state.watches = []
            }
            return (state.server, state.connections)
        }
        try? await server?.close().get()
        for connection in connections { try? await connection.close().get() }
    }

    /// The requests so far.
    public var requests: [APIRequest] { state.withLock { $0.requests } }
    public var watchRequests: [APIRequest] { requests.filter(\.isWatch) }
    public var listRequests: [APIRequest] { requests.filter { !$0.isWatch } }
    public var openWatches: Int { state.withLock { $0.watches.count } }

    /// Sets the accepted tokens.
    public func accept(_ tokens: Set<String>) { state.withLock { $0.tokens = tokens } }

    /// Lets the next requests of this kind fail.
    public func fail(_ target: APIFault.Target, _ kind: APIFault.Kind, times: Int = 1) {
        state.withLock { $0.faults.append(APIFault(kind: kind, target: target, times: times)) }
    }

    public func forgive() { state.withLock { $0.faults = [] } }

    /// A kubeconfig for this cluster.
    public func kubeconfig(user: String = "token: t", server: String? = nil) throws -> String {
        let authority = try Identity.base64(identity.authority)
        return """
            apiVersion: v1
            kind: Config
            current-context: here
            contexts:
            - {name: elsewhere, context: {cluster: far, user: other}}
            - {name: here, context: {cluster: near, user: me}}
            clusters:
            - {name: far, cluster: {server: "https://192.0.2.1:6443"}}
            - name: near
              cluster:
                server: \(server ?? url)
                certificate-authority-data: \(authority)
            users:
            - {name: other, user: {}}
            - name: me
              user: {\(user)}

            """
    }
}
