// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

/// A request that did not give what was asked for.
struct APIFailure: Error, Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// 401: the server does not know who asks.
        case unauthorized
        /// 403: it knows, and does not allow it.
        case forbidden
        /// 410: the version asked for is no longer kept.
        case expired
        /// The version asked for is yet to come.
        case futureVersion
        /// Any other answer that is not a success, by its HTTP code.
        case status(Int)
        /// One side does not accept the other's certificate.
        case tls
        /// No connection, or one that broke.
        case connection
        /// No answer in time.
        case timeout
        /// An answer that cannot be understood.
        case malformed
        /// What is needed to ask, such as the token, cannot be read.
        case credentials
    }

    let kind: Kind
    /// What the server or the system says.
    let detail: String
    /// When the server would like to be asked again.
    var retryAfter: Duration?

    init(_ kind: Kind, _ detail: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// - Parameter code: of HTTP; that of the status comes first.
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

    /// Whether the version that was asked for is of no use, which is part of a watch's life.
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

    /// What the reader of the log can do.
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

/// Failures of a watch in the log: a line for each that is new, and one a minute for those that go on.
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
        // That a version is of no use is part of a watch's life.
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
