// SPDX-License-Identifier: Apache-2.0

/// What is made of a snapshot for a client.
enum Document: Hashable {
    case metrics
    /// The status page, of one listener or of all.
    case page(listener: String?)
    /// The numbers that the status page's script asks for.
    case data(listener: String?)

    /// Whether clients that ask at the same time may get the same bytes.
    var isShared: Bool {
        switch self {
        case .metrics, .data: true
        case .page: false
        }
    }
}
