// SPDX-License-Identifier: Apache-2.0

/// What the daemon answers: one line of JSON. `ok` says whether the request was carried out, and one
/// further member holds what came of it.
public struct ControlResponse: Codable, Equatable, Sendable {
    public var ok: Bool
    /// Of a request that was not carried out.
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

    /// A reload that failed has been carried out as far as the client is concerned: `ok` is false, and
    /// the problems stand in the report.
    public static func reload(_ report: ReloadReport) -> ControlResponse {
        var response = ControlResponse(ok: report.problems.isEmpty)
        response.reload = report
        return response
    }
}

/// Why a request was not carried out, and what to do about it.
public struct ControlFailure: Error, Codable, Equatable, Sendable, CustomStringConvertible {
    public var message: String
    public var remedy: String
    /// true when the same request may succeed a moment later; left out otherwise.
    public var mayRetry: Bool?
    /// Whether the time for an answer is over; known to the client alone.
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
