// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension Reconciler {
    /// A state whose listeners have their slot tables at hand: each table is built once, however many listeners
    /// and planes have it, and not at all when it is in force already. Different ones are built beside one another.
    static func withTables(
        _ desired: DesiredState, after former: DesiredState
    ) async -> DesiredState {
        let known = former.tablesAtHand
        let wanted = desired.tableOrigins.subtracting(known.keys)
        let tables = await withTaskGroup(of: (TableOrigin, SlotTable).self) { group in
            for origin in wanted { group.addTask { (origin, origin.table) } }
            return await group.reduce(into: known) { $0[$1.0] = $1.1 }
        }
        return desired.bearing(tables)
    }
}
