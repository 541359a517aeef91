// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Synchronization

/// The ways to receivers that one plane has asked the kernel for, so that another which follows the same change
/// need not: a thousand receivers are some milliseconds of questions.
public final class PathMemory: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private struct Answer {
        let path: ReceiverPath?
        /// All that it is made of was asked for later.
        let moment: Instant
    }

    private let answers = Mutex<[IPAddress: Answer]>([:])

    public init() {}

    /// The way to each receiver; nil where there is none.
    ///
    /// Who asks for the same at the same time waits for the other's answers.
    ///
    /// - Parameters:
    ///   - since: what was asked before this is asked again.
    ///   - moment: when the asking began for what `ask` makes its answers of, the links for one.
    ///   - ask: asks the kernel, for several at once; gives the answers in their order.
    package func paths(
        to receivers: Set<IPAddress>, since: Instant, asking moment: Instant,
        _ ask: ([IPAddress]) throws(NetlinkError) -> [ReceiverPath?]
    ) throws(NetlinkError) -> [IPAddress: ReceiverPath?] {
        try answers.withLock { answers throws(NetlinkError) in
            var paths: [IPAddress: ReceiverPath?] = [:]
            paths.reserveCapacity(receivers.count)
            var unknown: [IPAddress] = []
            for receiver in receivers {
                if let known = answers[receiver], known.moment >= since {
                    paths.updateValue(known.path, forKey: receiver)
                } else {
                    unknown.append(receiver)
                }
            }
            guard !unknown.isEmpty else { return paths }
            let asked = try ask(unknown)
            answers = answers.filter {
                $0.value.moment >= min(since, moment - NetworkWatch.patience)
            }
            for (receiver, path) in zip(unknown, asked) {
                answers[receiver] = Answer(path: path, moment: moment)
                paths.updateValue(path, forKey: receiver)
            }
            return paths
        }
    }
}

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
