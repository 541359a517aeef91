// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// A response, without what depends on the connection.
struct Response {
    let status: HTTPResponseStatus
    let contentType: String
    let body: ByteBuffer
    /// Header fields of some responses only.
    var fields: [(name: String, value: String)] = []
    /// Whether the connection cannot be parsed any further.
    let endsConnection: Bool

    /// A response of one line of plain text.
    init(_ status: HTTPResponseStatus, _ line: String, endsConnection: Bool = false) {
        self.status = status
        contentType = "text/plain; charset=utf-8"
        body = ByteBuffer(string: line + "\n")
        self.endsConnection = endsConnection
    }

    /// The text of the metrics.
    init(metrics: ByteBuffer) {
        status = .ok
        contentType = Exposition.contentType
        body = metrics
        endsConnection = false
    }

    /// The status page. The browser loads nothing else for it, runs only the script with its nonce, and does not
    /// show it in a frame.
    init(page: StatusPage) {
        status = page.view.isFound ? .ok : .notFound
        contentType = "text/html; charset=utf-8"
        body = ByteBuffer(string: page.html)
        fields =
            [
                ("Content-Security-Policy", page.contentSecurityPolicy),
                ("X-Frame-Options", "DENY"),
            ] + Self.forBrowsers
        endsConnection = false
    }

    /// The numbers for the page's script.
    init(data view: StatusView) {
        status = view.isFound ? .ok : .notFound
        contentType = "application/json"
        body = ByteBuffer(string: view.json)
        fields = Self.forBrowsers
        endsConnection = false
    }

    private static let forBrowsers = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
    ]

    /// - Parameter hang: why the daemon does not work; nil if it does.
    static func liveness(_ hang: String?) -> Response {
        hang.map { Response(.serviceUnavailable, $0) } ?? Response(.ok, "ok")
    }

    /// - Parameter obstacle: why the daemon is not ready; nil if it is.
    static func readiness(_ obstacle: String?) -> Response {
        obstacle.map { Response(.serviceUnavailable, $0) } ?? Response(.ok, "ready")
    }

    static let notFound = Response(.notFound, "not found")
    static let methodNotAllowed = Response(.methodNotAllowed, "only GET and HEAD are served here")
    static let bodyRefused = Response(
        .payloadTooLarge, "a request may not have a body here", endsConnection: true)
    static let headerTooLarge = Response(
        .requestHeaderFieldsTooLarge, "the request's header is too long", endsConnection: true)
    static let malformed = Response(.badRequest, "this is not HTTP/1.1", endsConnection: true)
    static let hostMissing = Response(
        .badRequest, "a request needs one Host header (RFC 9112, section 3.2)",
        endsConnection: true)
    /// A page for a browser.
    static let hostUnknown = Response(
        .misdirectedRequest,
        "this host has no such name; open the page by an IP address, as localhost or by the host's name, or "
            + "set metrics.server_names")
    static let overdue = Response(
        .serviceUnavailable, "the counters could not be read in time", endsConnection: true)

    /// The status line and header.
    ///
    /// - Parameter closing: whether the connection ends with this response.
    func head(for request: HTTPRequestHead?, closing: Bool) -> HTTPResponseHead {
        var headers = HTTPHeaders()
        headers.add(name: "Content-Type", value: contentType)
        headers.add(name: "Content-Length", value: String(body.readableBytes))
        for field in fields { headers.add(name: field.name, value: field.value) }
        if status == .methodNotAllowed { headers.add(name: "Allow", value: "GET, HEAD") }
        if closing {
            headers.add(name: "Connection", value: "close")
        } else if request?.version == .http1_0 {
            headers.add(name: "Connection", value: "keep-alive")
        }
        let version = request?.version == .http1_0 ? HTTPVersion.http1_0 : .http1_1
        return HTTPResponseHead(version: version, status: status, headers: headers)
    }
}
