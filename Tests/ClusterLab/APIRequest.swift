// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a client has asked the cluster.
public struct APIRequest: Sendable {
    public let path: String
    public let query: [String: String]
    public let authorization: String?
    public let at: ContinuousClock.Instant

    public var isWatch: Bool { query["watch"] != nil }

    init(uri: String, authorization: String?) {
        let parts = uri.split(separator: "?", maxSplits: 1)
        path = String(parts.first ?? "")
        var query: [String: String] = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let words = pair.split(separator: "=", maxSplits: 1)
            query[String(words[0])] =
                words.count > 1 ? String(words[1]).removingPercentEncoding ?? "" : ""
        }
        self.query = query
        self.authorization = authorization
        at = .now
    }

    /// The value that the selector asks for, whichever it is.
    var selected: String {
        let selector = query["labelSelector"] ?? query["fieldSelector"] ?? ""
        return String(selector.split(separator: "=").last ?? "")
    }
}
