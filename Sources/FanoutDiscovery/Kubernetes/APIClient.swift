// SPDX-License-Identifier: Apache-2.0

internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Sends requests to an API server.
struct APIClient: Sendable {
    let access: ClusterAccess

    /// Lives as long as the process: it must not be released before its connections.
    private static let http = HTTPClient(
        eventLoopGroupProvider: .singleton, configuration: configuration)

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        // Each watch has its own connection; with the default limit of 8 the ninth would wait for ever.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        return configuration
    }

    /// The longest list page in bytes.
    private static let longestPage = 64 << 20

    /// Gets a complete response, decoded.
    ///
    /// - Parameters:
    ///   - path: appended to the server's URL; with its query, percent-encoded.
    ///   - limit: for the whole response; a server without its storage may not respond at all.
    func get<Answer: Decodable>(
        _ type: Answer.Type, _ path: String, within limit: Duration
    ) async throws(APIFailure) -> Answer {
        let deadline = NIODeadline.now() + TimeAmount(limit)
        let response = try await send(path, deadline)
        let body: ByteBuffer
        do {
            body = try await response.body.collect(upTo: Self.longestPage)
        } catch {
            throw APIFailure(of: error)
        }
        return try Self.decode(type, body)
    }

    /// The body of a response as it arrives. It ends with `APIFailure(.timeout)` after `limit`.
    func stream(
        _ path: String, within limit: Duration
    ) async throws(APIFailure) -> HTTPClientResponse.Body {
        try await send(path, NIODeadline.now() + TimeAmount(limit)).body
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type, _ bytes: ByteBuffer
    ) throws(APIFailure) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes.readableBytesView))
        } catch {
            throw APIFailure(.malformed, "\(error)")
        }
    }

    private func send(
        _ path: String, _ deadline: NIODeadline
    ) async throws(APIFailure) -> HTTPClientResponse {
        let session = try await access.session()
        var request = HTTPClientRequest(url: session.server + path)
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "User-Agent", value: "udp-fanout")
        if let authorization = session.authorization {
            request.headers.add(name: "Authorization", value: authorization)
        }
        request.tlsConfiguration = session.tls
        let response: HTTPClientResponse
        do {
            response = try await Self.http.execute(request, deadline: deadline)
        } catch {
            throw APIFailure(of: error)
        }
        guard response.status != .ok else { return response }
        throw await refusal(response)
    }

    /// The failure that an error response describes.
    private func refusal(_ response: HTTPClientResponse) async -> APIFailure {
        if response.status == .unauthorized { await access.renew() }
        let wait = response.headers.first(name: "Retry-After").flatMap { Int($0) }
        let body = try? await response.body.collect(upTo: 1 << 20)
        let status = body.flatMap { try? Self.decode(APIStatus.self, $0) }
        return APIFailure(
            code: Int(response.status.code), status: status,
            retryAfter: wait.map { .seconds($0) })
    }
}

extension APIFailure {
    /// The failure that ended a request.
    init(of error: any Error) {
        switch error {
        case let known as APIFailure: self = known
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(.tls, "\(error)")
        case let http as HTTPClientError where Self.timeouts.contains(http):
            self.init(.timeout, "\(error)")
        case is NIOTooManyBytesError:
            self.init(.malformed, "an answer that is too long")
        default: self.init(.connection, "\(error)")
        }
    }

    private static let timeouts: [HTTPClientError] = [
        .connectTimeout, .deadlineExceeded, .readTimeout, .writeTimeout,
        .getConnectionFromPoolTimeout, .tlsHandshakeTimeout,
    ]
}
