// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// What a request asks for, decided by its first line alone.
enum Route: Equatable {
    case document(Document)
    case health
    case readiness
    case notFound
    case methodNotAllowed

    init(method: HTTPMethod, target: String, metricsPath: String) {
        guard method == .GET || method == .HEAD else {
            self = .methodNotAllowed
            return
        }
        // The configuration's word comes first: the metrics may be where the status page would be.
        let path = Self.path(of: target)
        switch path {
        case metricsPath[...]: self = .document(.metrics)
        case "/healthz": self = .health
        case "/readyz": self = .readiness
        case "/": self = .document(.page(listener: QueryText.value(of: "listener", in: target)))
        case StatusPage.dataPath[...]:
            self = .document(.data(listener: QueryText.value(of: "listener", in: target)))
        default: self = .notFound
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
