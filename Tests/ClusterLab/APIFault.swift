// SPDX-License-Identifier: Apache-2.0

/// How the next answers of a cluster go wrong.
public struct APIFault: Sendable {
    public enum Kind: Sendable {
        /// An error of HTTP, with these headers and an API status of this reason.
        case status(Int, reason: String = "", headers: [String: String] = [:])
        /// 200, then these bytes, then the end.
        case body(String)
        /// No answer.
        case silence
        /// The connection is closed.
        case cut
    }

    public enum Target: Sendable {
        case list
        /// Pages of a list but the first.
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
