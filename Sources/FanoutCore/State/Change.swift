// SPDX-License-Identifier: Apache-2.0

/// The difference between two desired states. Every listener of either state is in exactly one list.
public struct Change: Equatable, Sendable {
    /// A listener of both states, before and after.
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
    /// Removed listeners: what they have received is still forwarded.
    public var removed: [Listener] = []
    /// Same sockets, other receivers or weights: a new slot table.
    public var retargeted: [Pair] = []
    /// Other differences: new sockets take over from the old ones.
    public var replaced: [Pair] = []
    public var unchanged: [Listener] = []

    public init() {}

    public var isEmpty: Bool {
        added.isEmpty && removed.isEmpty && retargeted.isEmpty && replaced.isEmpty
    }

    /// Whether only the receivers of listeners change.
    public var concernsReceiversAlone: Bool {
        added.isEmpty && removed.isEmpty && replaced.isEmpty
    }

    /// The listeners after the change, in an order that does not depend on the change.
    ///
    /// - Parameter listeners: the listeners before the change; those outside it stay.
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
