// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOSSL

/// The connection parameters of a request.
struct ClusterSession: Sendable {
    /// The URL that paths are appended to.
    let server: String
    /// The value of the `Authorization` header; nil: none.
    let authorization: String?
    /// nil: no TLS.
    let tls: TLSConfiguration?
}

/// Reads address and credentials of a cluster, again every minute and when the server has refused them, since they
/// are renewed externally.
actor ClusterAccess {
    /// The inputs of a session, to detect changes.
    private struct Contents: Equatable {
        var location: ClusterLocation
        var authority: [UInt8]?
        var token: [UInt8]?
        var certificate: [UInt8]?
        var key: [UInt8]?

        init(_ location: ClusterLocation) throws(APIFailure) {
            self.location = location
            authority = try location.authority?.read()
            token = try location.token?.read()
            certificate = try location.clientCertificate?.read()
            key = try location.clientKey?.read()
        }
    }

    private let locate: @Sendable () throws(APIFailure) -> ClusterLocation
    private let interval: Duration
    private let logger: Logger
    private var known: (contents: Contents, session: ClusterSession)?
    private var readAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - interval: how often everything is read again.
    ///   - locate: finds the cluster again each time.
    init(
        interval: Duration = .seconds(60), logger: Logger,
        locate: @escaping @Sendable () throws(APIFailure) -> ClusterLocation
    ) {
        self.interval = interval
        self.logger = logger
        self.locate = locate
    }

    /// The parameters for a request now.
    ///
    /// - Throws: `APIFailure` if something was never readable; otherwise a failed read keeps the previous session.
    func session() throws(APIFailure) -> ClusterSession {
        if let known, let readAt, .now - readAt < interval { return known.session }
        do throws(APIFailure) {
            let contents = try Contents(try locate())
            readAt = .now
            if let known, known.contents == contents { return known.session }
            let session = try Self.session(contents)
            if contents.location.trustsAnyone, known == nil {
                logger.warning(
                    "k8s discovery: the API server's certificate is not verified, as the kubeconfig says",
                    metadata: ["server": "\(contents.location.server)"])
            }
            known = (contents, session)
            return session
        } catch {
            guard let known else { throw error }
            readAt = .now
            logger.warning("\(error.message)", metadata: ["error": "\(error.detail)"])
            return known.session
        }
    }

    /// Reads everything that a location refers to.
    ///
    /// - Throws: `APIFailure` if something is missing or invalid.
    static func check(_ location: ClusterLocation) throws(APIFailure) {
        _ = try session(try Contents(location))
    }

    /// Makes the next session read everything again.
    func renew() { readAt = nil }

    private static func session(_ contents: Contents) throws(APIFailure) -> ClusterSession {
        let server = contents.location.server
        guard server.hasPrefix("https://") else {
            // Never sends a token in cleartext over a network.
            return ClusterSession(server: server, authorization: nil, tls: nil)
        }
        let token = contents.token.map {
            String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace }
        }
        return ClusterSession(
            server: server, authorization: token.map { "Bearer " + $0 }, tls: try tls(contents))
    }

    private static func tls(_ contents: Contents) throws(APIFailure) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        do {
            if let authority = contents.authority {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(authority))
            }
            if contents.location.trustsAnyone { tls.certificateVerification = .none }
            if let certificate = contents.certificate, let key = contents.key {
                tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(certificate)
                    .map { .certificate($0) }
                tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: key, format: .pem))
            }
        } catch {
            throw APIFailure(.credentials, "no certificate or key in PEM: \(error)")
        }
        return tls
    }
}
