// SPDX-License-Identifier: Apache-2.0

/// Receivers that an operator has drained: an input of the desired state, beside the configuration. It is kept in
/// memory only and identifies receivers by name, so it outlasts a reload.
public struct DrainList: Equatable, Sendable {
    /// One receiver of one listener.
    public struct Entry: Hashable, Comparable, Sendable, CustomStringConvertible {
        public let listener: String
        public let downstream: String

        public init(listener: String, downstream: String) {
            self.listener = listener
            self.downstream = downstream
        }

        /// `listener/receiver`, as `entries(named:in:)` parses it.
        public var description: String { "\(listener)/\(downstream)" }

        public static func < (left: Entry, right: Entry) -> Bool {
            (left.listener, left.downstream) < (right.listener, right.downstream)
        }
    }

    public var entries: Set<Entry>

    public init(_ entries: Set<Entry> = []) { self.entries = entries }

    /// The receivers that a name means in `state`: `listener/receiver`, or a receiver of that name in every
    /// listener. Both kinds of names may contain a slash. Empty if there is none.
    public static func entries(named name: String, in state: DesiredState) -> Set<Entry> {
        let all = state.listeners.flatMap { listener in
            listener.downstreams.map { Entry(listener: listener.name, downstream: $0.name) }
        }
        let exact = all.filter { $0.description == name }
        return Set(exact.isEmpty ? all.filter { $0.downstream == name } : exact)
    }
}

extension DesiredState {
    /// The state in which drained receivers have weight 0: they get no new flows; flows that a mode remembers stay
    /// with them.
    public func applying(_ drains: DrainList) -> DesiredState {
        guard !drains.entries.isEmpty else { return self }
        return DesiredState(
            listeners: listeners.map { listener in
                var listener = listener
                listener.downstreams = listener.downstreams.map { downstream in
                    let entry = DrainList.Entry(
                        listener: listener.name, downstream: downstream.name)
                    return drains.entries.contains(entry) ? downstream.weighing(0) : downstream
                }
                return listener
            })
    }
}

extension Downstream {
    /// A copy with another weight.
    public func weighing(_ weight: UInt16) -> Downstream {
        var result = Downstream(
            name: name, endpoint: endpoint, weight: weight, isEnabled: isEnabled,
            isBackup: isBackup)
        result.warmth = warmth
        return result
    }
}
