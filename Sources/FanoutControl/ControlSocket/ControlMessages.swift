// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import LinuxNet

/// What a client asks for: one line of JSON, such as `{"request":"drain","name":"syslog/sink-1"}`.
public struct ControlRequest: Codable, Equatable, Sendable {
    /// The kinds of requests. The raw value is the member `request`.
    public enum Kind: String, CaseIterable, Codable, Sendable {
        case status, explain, drain, undrain, reload, takeover
    }

    /// The steps of `takeover`, in their order on one connection. If the connection ends before the last step, the
    /// daemon takes back what it released and continues.
    public enum TakeoverStep: String, CaseIterable, Codable, Sendable {
        /// The listening sockets come with the response; the daemon still reads from them.
        case begin
        /// The daemon releases hooks, queues and the metrics port. The kernel continues to forward.
        case release
        /// The daemon stops reading from its sockets.
        case `switch`
        /// The daemon exits.
        case finish
        /// Replaces the remaining steps: the daemon takes back what it released.
        case abandon
    }

    public var request: Kind
    /// Of `drain` and `undrain`: `listener/receiver`, or a receiver of any listener.
    public var name: String?
    /// Of `explain`: the source, `ip:port` or `[ip6]:port`.
    public var from: String?
    /// Of `explain`: the destination.
    public var to: String?
    /// Of `explain`: the UDP payload in hexadecimal digits, for `balance: payload`.
    public var payload: String?
    /// Of `takeover`.
    public var step: TakeoverStep?
    /// Of the step `begin`: the process ID of the new daemon.
    public var process: Int32?
    /// Of the step `finish`: addresses whose sockets the new daemon does not use; the old one forwards what is in
    /// them.
    public var unused: [String]?

    public init(
        _ request: Kind, name: String? = nil, from: String? = nil, to: String? = nil,
        payload: String? = nil
    ) {
        self.request = request
        self.name = name
        self.from = from
        self.to = to
        self.payload = payload
    }
}

/// The daemon's response: one line of JSON. `ok` tells whether the request succeeded; one further member holds the
/// result.
public struct ControlResponse: Codable, Equatable, Sendable {
    public var ok: Bool
    /// Of a request that failed.
    public var error: ControlFailure?
    public var status: StatusReport?
    public var explanation: ExplanationReport?
    public var drain: DrainReport?
    public var reload: ReloadReport?
    public var takeover: TakeoverReport?

    private init(ok: Bool) { self.ok = ok }

    public static func failure(_ error: ControlFailure) -> ControlResponse {
        var response = ControlResponse(ok: false)
        response.error = error
        return response
    }

    public static func status(_ report: StatusReport) -> ControlResponse {
        var response = ControlResponse(ok: true)
        response.status = report
        return response
    }

    public static func explanation(_ report: ExplanationReport) -> ControlResponse {
        var response = ControlResponse(ok: true)
        response.explanation = report
        return response
    }

    public static func drain(_ report: DrainReport) -> ControlResponse {
        var response = ControlResponse(ok: true)
        response.drain = report
        return response
    }

    public static func takeover(_ report: TakeoverReport) -> ControlResponse {
        var response = ControlResponse(ok: true)
        response.takeover = report
        return response
    }

    /// A failed reload: `ok` is false, and the report holds the problems.
    public static func reload(_ report: ReloadReport) -> ControlResponse {
        var response = ControlResponse(ok: report.problems.isEmpty)
        response.reload = report
        return response
    }
}

/// Why a request failed, and the remedy.
public struct ControlFailure: Error, Codable, Equatable, Sendable, CustomStringConvertible {
    public var message: String
    public var remedy: String
    /// true if the same request may succeed a moment later; left out otherwise.
    public var mayRetry: Bool?
    /// Whether the time for a response is over; set by the client only.
    public var isTimeout = false

    private enum CodingKeys: String, CodingKey { case message, remedy, mayRetry }

    public init(
        _ message: String, remedy: String, mayRetry: Bool? = nil, isTimeout: Bool = false
    ) {
        self.message = message
        self.remedy = remedy
        self.mayRetry = mayRetry
        self.isTimeout = isTimeout
    }

    public var description: String { "\(message): \(remedy)" }
}

/// Values as lines of JSON (RFC 8259): members in snake_case, in alphabetical order, so that equal values give
/// equal lines.
public enum ControlLine {
    /// Longest line that is accepted, bytes.
    public static let longestRequest = 64 << 10

    /// A value as a line, with its newline.
    public static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoded values hold no number that JSON lacks: rates are finite.
        guard let line = try? encoder.encode(value) else { return Array("null\n".utf8) }
        return Array(line) + [UInt8(ascii: "\n")]
    }

    /// - Throws: `ControlFailure` if the line is not JSON of this shape.
    public static func decode<Value: Decodable>(
        _ type: Value.Type, from line: some Sequence<UInt8>
    ) throws(ControlFailure) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(type, from: Data(line))
        } catch {
            throw ControlFailure(
                "the line is not a request",
                remedy: "see docs/reference/control-socket.md for what to write")
        }
    }
}

/// Splits bytes into lines as they arrive.
public struct LineSplitter: Sendable {
    private var rest: [UInt8] = []

    public init() {}

    /// Whether the unfinished line is longer than a request may be.
    public var isOverlong: Bool { rest.count > ControlLine.longestRequest }

    /// The complete lines so far, without newlines; skips blank ones.
    public mutating func take(_ bytes: [UInt8]) -> [[UInt8]] {
        rest += bytes
        var lines: [[UInt8]] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            if line.contains(where: { $0 != 13 && $0 != 32 && $0 != 9 }) {
                lines.append(Array(line))
            }
            rest.removeSubrange(...end)
        }
        return lines
    }
}

/// Why the control socket could not be opened, and the remedy.
public struct ControlSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    public let path: String
    public let refusal: UnixListener.Refusal

    init(_ refusal: UnixListener.Refusal, path: String) {
        self.refusal = refusal
        self.path = path
    }

    public var description: String {
        switch refusal {
        case .taken(let pid):
            "control socket \(path): a running daemon uses it"
                + (pid.map { " (process \($0))" } ?? "")
                + ": stop it, or set another control.socket"
        case .notASocket:
            "control socket \(path): the file is not a socket: remove it, "
                + "or set another control.socket"
        case .locked(let file, let pid):
            "control socket \(path): lock \(file): another process"
                + (pid.map { " (process \($0))" } ?? "")
                + " has held it for 5 s: end that process and start again"
        case .system(let error):
            "control socket \(path): \(error): set control.socket to a path that this user "
                + "may create, or control.enabled: false"
        }
    }
}
