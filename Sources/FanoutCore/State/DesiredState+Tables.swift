// SPDX-License-Identifier: Apache-2.0

// Many listeners with the same receivers, as those of one service in several modes, have one slot table, which
// need not be built for each.

extension DesiredState {
    /// What the slot tables of all listeners are made from.
    public var tableOrigins: Set<TableOrigin> { Set(listeners.map(\.tableOrigin)) }

    /// The slot tables that listeners have at hand, for a state that follows this one.
    public var tablesAtHand: [TableOrigin: SlotTable] {
        listeners.reduce(into: [:]) { $0[$1.tableOrigin] = $1.tableAtHand }
    }

    /// The same state, whose listeners have their tables at hand where `tables` has them.
    public func bearing(_ tables: [TableOrigin: SlotTable]) -> DesiredState {
        DesiredState(
            listeners: listeners.map { listener in
                tables[listener.tableOrigin].map { listener.bearing($0) } ?? listener
            })
    }
}
