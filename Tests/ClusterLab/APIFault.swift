// SPDX-License-Identifier: Apache-2.0

/// How the next responses of a cluster fail.
public struct APIFault: Sendable {
    public enum Kind: Sendable {
        /// An HTTP error with these headers and an API status of this reason.
        case status(Int, reason: String = "", headers: [String: String] = [:])
        /// 200, then these bytes, then the end.
        case body(String)
        /// No response.
        case silence
        /// The connection is closed.
        case cut
    }

    public enum Target: Sendable {
        case list
        /// All pages of a list except the first.
        case nextPage
        case watch
        case any
    }

    let kind: Kind
    let target: Target
    var times: Int

    func concerns(_ request: APIRequest) -> Bool {
        switch target {
        case .list: !request.isWatch
        case .nextPage: request.query["continue"] != nil
        case .watch: request.isWatch
        case .any: true
        }
    }
}
