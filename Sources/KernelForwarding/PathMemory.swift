// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Synchronization

/// A cache of paths to receivers that planes share, so that planes that follow the same change look them up once: a
/// thousand lookups take some milliseconds.
public final class PathMemory: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private struct Answer {
        let path: ReceiverPath?
        /// All of its inputs were read after this moment.
        let moment: Instant
    }

    private let answers = Mutex<[IPAddress: Answer]>([:])

    public init() {}

    /// The path to each receiver; nil where there is none.
    ///
    /// Concurrent callers with the same receivers wait for one lookup.
    ///
    /// - Parameters:
    ///   - since: older results are looked up again.
    ///   - moment: when the reading of the inputs of `ask` began, such as the links.
    ///   - ask: looks up several at once; returns the results in their order.
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

/// The network as a plane read it while the slot tables of a change were built.
///
/// Valid for that change until the plane follows the network: later changes are reported by an event, or found by the
/// plane's next reading, and applied after the change.
package struct Anticipated<Seen: Sendable>: Sendable {
    private let seen: Seen
    private let interfaces: [String?]
    private let receivers: [[IPAddress]]

    package init(_ seen: Seen, for listeners: [Listener]) {
        self.seen = seen
        interfaces = listeners.map(\.interface)
        receivers = listeners.map(\.receiverAddresses)
    }

    /// - Returns: nil when other receivers or interfaces were read.
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
