// SPDX-License-Identifier: Apache-2.0

/// The difference between two desired states. Every listener of either state is in exactly one of the
/// lists.
public struct Change: Equatable, Sendable {
    /// A listener that stays, as it was and as it will be.
    public struct Pair: Equatable, Sendable {
        public let from: Listener
        public let to: Listener

        public init(from: Listener, to: Listener) {
            self.from = from
            self.to = to
        }
    }

    /// New listeners: sockets are opened.
    public var added: [Listener] = []
    /// Listeners that end: what they have received is still forwarded.
    public var removed: [Listener] = []
    /// Same sockets, other downstreams or weights: a new slot table.
    public var retargeted: [Pair] = []
    /// Something else changed as well: new sockets take over from the old ones.
    public var replaced: [Pair] = []
    public var unchanged: [Listener] = []

    public init() {}

    public var isEmpty: Bool {
        added.isEmpty && removed.isEmpty && retargeted.isEmpty && replaced.isEmpty
    }

    /// Whether listeners stay as they are, but for who receives.
    public var concernsReceiversAlone: Bool {
        added.isEmpty && removed.isEmpty && replaced.isEmpty
    }

    /// The listeners once the change is made, in an order that does not depend on the change.
    ///
    /// - Parameter listeners: those before it; others than the change has stay.
    public func applied(to listeners: [Listener]) -> [Listener] {
        var byName = Dictionary(uniqueKeysWithValues: listeners.map { ($0.name, $0) })
        for listener in removed { byName[listener.name] = nil }
        for listener in added + retargeted.map(\.to) + replaced.map(\.to) {
            byName[listener.name] = listener
        }
        return byName.values.sorted { $0.name < $1.name }
    }

    /// Listeners are matched by name, in the order of the states. O(n).
    public static func diff(from old: DesiredState, to new: DesiredState) -> Change {
        var change = Change()
        let before = Dictionary(uniqueKeysWithValues: old.listeners.map { ($0.name, $0) })
        let after = Set(new.listeners.map(\.name))
        change.removed = old.listeners.filter { !after.contains($0.name) }
        for listener in new.listeners {
            guard let previous = before[listener.name] else {
                change.added.append(listener)
                continue
            }
            if previous == listener {
                change.unchanged.append(listener)
            } else if previous.sharesSockets(with: listener) {
                change.retargeted.append(Pair(from: previous, to: listener))
            } else {
                change.replaced.append(Pair(from: previous, to: listener))
            }
        }
        return change
    }
}
