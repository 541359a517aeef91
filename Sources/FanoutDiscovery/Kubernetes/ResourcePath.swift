// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The URL path of a service's objects.
struct ResourcePath: Sendable {
    /// The kind of the objects, for log messages.
    let kind: String
    let namespace: String
    let service: String
    private let path: String
    private let selector: String

    /// The slices of a service, by label.
    static func endpointSlices(_ namespace: String, _ service: String) -> ResourcePath {
        ResourcePath(
            kind: "EndpointSlice", namespace: namespace, service: service,
            path: "/apis/discovery.k8s.io/v1/namespaces/\(namespace)/endpointslices",
            selector: "labelSelector=kubernetes.io%2Fservice-name%3D\(service)")
    }

    /// The service itself.
    static func service(_ namespace: String, _ service: String) -> ResourcePath {
        ResourcePath(
            kind: "Service", namespace: namespace, service: service,
            path: "/api/v1/namespaces/\(namespace)/services",
            selector: "fieldSelector=metadata.name%3D\(service)")
    }

    /// - Parameters:
    ///   - pageSize: nil: everything in one page.
    ///   - next: the token for this page, from the previous one.
    func list(pageSize: Int?, from next: String?) -> String {
        var result = "\(path)?\(selector)"
        if let pageSize { result += "&limit=\(pageSize)" }
        if let next { result += "&continue=\(Self.encoded(next))" }
        return result
    }

    func watch(from version: String, _ duration: Duration) -> String {
        "\(path)?\(selector)&watch=1&allowWatchBookmarks=true"
            + "&resourceVersion=\(Self.encoded(version))"
            + "&timeoutSeconds=\(duration.components.seconds)"
    }

    /// Percent-encodes a query (RFC 3986, section 2.3: all but the unreserved characters).
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 48...57, 65...90, 97...122, 45, 46, 95, 126:
                String(UnicodeScalar(byte))
            default:
                "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
