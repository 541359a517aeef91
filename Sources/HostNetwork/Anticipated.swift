// SPDX-License-Identifier: Apache-2.0

package import FanoutCore

/// What a plane saw of the network while the slot tables of a change were built.
///
/// Good for that change, until the plane follows the network: what is true no more is told by an event, or
/// found by the plane's next look, and followed after the change.
package struct Anticipated<Seen: Sendable>: Sendable {
    private let seen: Seen
    private let interfaces: [String?]
    private let receivers: [[IPAddress]]

    package init(_ seen: Seen, for listeners: [Listener]) {
        self.seen = seen
        interfaces = listeners.map(\.interface)
        receivers = listeners.map(\.receiverAddresses)
    }

    /// - Returns: nil when other receivers or interfaces were looked at.
    package func seen(for listeners: [Listener]) -> Seen? {
        guard listeners.map(\.interface) == interfaces,
            listeners.map(\.receiverAddresses) == receivers
        else { return nil }
        return seen
    }
}

extension Listener {
    fileprivate var receiverAddresses: [IPAddress] { downstreams.map(\.endpoint.address) }
}
