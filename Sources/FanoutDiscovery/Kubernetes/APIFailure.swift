// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

/// A failed request.
struct APIFailure: Error, Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// 401: the credentials are invalid.
        case unauthorized
        /// 403: the account may not do this.
        case forbidden
        /// 410: the requested version is no longer kept.
        case expired
        /// The requested version does not exist yet.
        case futureVersion
        /// Any other HTTP error, by its code.
        case status(Int)
        /// One side rejects the other's certificate.
        case tls
        /// No connection, or a broken one.
        case connection
        /// No response in time.
        case timeout
        /// An invalid response.
        case malformed
        /// Credentials, such as the token, cannot be read.
        case credentials
    }

    let kind: Kind
    /// The message of the server or the system.
    let detail: String
    /// The delay that the server asks for.
    var retryAfter: Duration?

    init(_ kind: Kind, _ detail: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// - Parameter code: the HTTP status; the code in `status` takes precedence.
    init(code: Int, status: APIStatus?, retryAfter: Duration? = nil) {
        let code = status?.code ?? code
        let wait = retryAfter ?? status?.details?.retryAfterSeconds.map { .seconds($0) }
        let kind: Kind =
            switch code {
            case 401: .unauthorized
            case 403: .forbidden
            case 410: .expired
            case _ where status?.isFutureVersion == true: .futureVersion
            default: .status(code)
            }
        self.init(kind, status?.message ?? "HTTP \(code)", retryAfter: wait)
    }

    /// Whether the requested version is unusable, which happens to every watch.
    var isAboutVersion: Bool { kind == .expired || kind == .futureVersion }

    /// The metric label `code`.
    var code: String {
        switch kind {
        case .unauthorized: "401"
        case .forbidden: "403"
        case .expired: "410"
        case .futureVersion: "504"
        case .status(let code): String(code)
        case .tls: "tls"
        case .connection: "connection"
        case .timeout: "timeout"
        case .malformed: "malformed"
        case .credentials: "credentials"
        }
    }

    /// The log message.
    var message: String {
        switch kind {
        case .unauthorized:
            "k8s discovery: 401, the API server does not accept the token or certificate"
        case .forbidden: "k8s discovery: 403, the account may not list and watch"
        case .tls: "k8s discovery: TLS failure between us and the API server"
        case .connection, .timeout: "k8s discovery: the API server does not answer"
        case .credentials: "k8s discovery: the credentials cannot be read"
        case .expired, .futureVersion, .status, .malformed:
            "k8s discovery: the API server's answer is of no use"
        }
    }

    /// What the operator can do.
    var remedy: String {
        switch kind {
        case .unauthorized: "renew the token or client certificate"
        case .forbidden: "grant get, list and watch to the account by a Role and a RoleBinding"
        case .tls: "check the CA certificate, the server's name and the client certificate"
        case .connection, .timeout: "check the server's address and the way to it"
        case .credentials: "check that the file is there and can be read"
        case .expired, .futureVersion, .status, .malformed: "none needed if it passes"
        }
    }
}

/// Logs failures of a watch: a line for each new one, and one a minute for a continuing one.
struct Trouble {
    let logger: Logger
    let resource: ResourcePath
    private var last: APIFailure.Kind?
    private var lastLine = ContinuousClock.now

    init(logger: Logger, resource: ResourcePath) {
        self.logger = logger
        self.resource = resource
    }

    private var fields: Logger.Metadata {
        ["namespace": "\(resource.namespace)", "service": "\(resource.service)"]
    }

    mutating func note(_ failure: APIFailure) {
        let isNew = failure.kind != last || .now - lastLine >= .seconds(60)
        // An unusable version is normal for a watch.
        let level: Logger.Level = failure.isAboutVersion ? .info : .warning
        if !failure.isAboutVersion { last = failure.kind }
        guard isNew else { return }
        lastLine = .now
        let more: Logger.Metadata = [
            "error": "\(failure.detail)", "code": "\(failure.code)", "remedy": "\(failure.remedy)",
            "receivers": "the last known stay",
        ]
        logger.log(
            level: level, "\(failure.message)", metadata: fields.merging(more) { $1 })
    }

    mutating func isOver() {
        guard last != nil else { return }
        last = nil
        logger.info("k8s discovery: the API server answers again", metadata: fields)
    }
}
