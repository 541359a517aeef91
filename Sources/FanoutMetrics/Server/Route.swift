// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// What a request asks for, decided by its first line alone.
enum Route: Equatable {
    case metrics
    case health
    case readiness
    case notFound
    case methodNotAllowed

    init(method: HTTPMethod, target: String, metricsPath: String) {
        guard method == .GET || method == .HEAD else {
            self = .methodNotAllowed
            return
        }
        let path = Self.path(of: target)
        self =
            switch path {
            case metricsPath[...]: .metrics
            case "/healthz": .health
            case "/readyz": .readiness
            default: .notFound
            }
    }

    /// The path of a target in origin form (`/path?query`) or absolute form (`http://host/path`, which
    /// every server must take: RFC 9112, section 3.2.2).
    private static func path(of target: String) -> Substring {
        var rest = target[...]
        if let scheme = ["http://", "https://"].first(where: rest.lowercased().hasPrefix) {
            rest = rest.dropFirst(scheme.count)
            rest = rest[(rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex)...]
            // An empty path is `/` (RFC 9110, section 4.2.3).
            if rest.first != "/" { return "/" }
        }
        return rest[..<(rest.firstIndex { "?#".contains($0) } ?? rest.endIndex)]
    }
}
