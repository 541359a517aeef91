// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// The resource of a request, determined by its first line.
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
        // The configured path takes precedence: the metrics may replace the status page.
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

/// What is rendered from a snapshot.
enum Document: Hashable {
    case metrics
    /// The status page, of one listener or of all.
    case page(listener: String?)
    /// The numbers that the status page's script asks for.
    case data(listener: String?)

    /// Whether concurrent clients may get the same bytes.
    var isShared: Bool {
        switch self {
        case .metrics, .data: true
        case .page: false
        }
    }
}

/// The query of a request's target, `name=value&name=value`, percent-encoded (RFC 3986).
enum QueryText {
    /// The first value of `name`; nil if there is none, or it is not UTF-8.
    static func value(of name: String, in target: String) -> String? {
        guard let start = target.firstIndex(of: "?") else { return nil }
        let query = target[target.index(after: start)...].prefix { $0 != "#" }
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return decoded(parts[1]) }
        }
        return nil
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest.removeFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Percent-encodes a value for a query: all but letters, digits, `-`, `.`, `_` and `~`.
    static func encoded(_ value: String) -> String {
        var text = ""
        for byte in value.utf8 {
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "-._~".unicodeScalars.contains(scalar))
            let digits = String(byte, radix: 16, uppercase: true)
            text += isPlain ? String(scalar) : "%" + (byte < 16 ? "0" : "") + digits
        }
        return text
    }
}
