// SPDX-License-Identifier: Apache-2.0

/// A question without an answer.
struct DNSFailure: Error, Equatable, Sendable {
    /// The metric label `code`.
    let code: String
    let detail: String
}
