// SPDX-License-Identifier: Apache-2.0

internal import CNet
package import Synchronization

/// What the plane and one worker share: the worker's table, whether it is in a batch, and whether it
/// is to end. Swapping the table takes no lock on the worker's side.
package struct WorkerCell: ~Copyable {
    /// A table, of whatever type the plane's workers use.
    package typealias Table = UnsafeMutableRawPointer

    @usableFromInline let table: Atomic<UInt>
    /// Odd while the worker uses a table.
    @usableFromInline let epoch = Atomic<UInt64>(0)
    @usableFromInline let ending = Atomic<Bool>(false)

    package init(_ first: Table) { table = Atomic(UInt(bitPattern: first)) }

    // MARK: The worker's side

    /// Opens a batch. The table stays valid until `leave`.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package borrowing func enter() -> Table {
        // The exchange is a full barrier: a plane that does not see the odd epoch has already put its
        // table where the load below finds it.
        let now = epoch.load(ordering: .relaxed)
        _ = epoch.exchange(now &+ 1, ordering: .sequentiallyConsistent)
        // SAFETY: the word is the address of a table that the plane keeps until this batch is over.
        return unsafe Table(bitPattern: table.load(ordering: .sequentiallyConsistent))
            .unsafelyUnwrapped
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package borrowing func leave() {
        epoch.store(epoch.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package borrowing func isEnding() -> Bool { ending.load(ordering: .acquiring) }

    // MARK: The plane's side

    /// How often the worker has begun or ended a batch; odd in a batch.
    package borrowing func turns() -> UInt64 { epoch.load(ordering: .acquiring) }

    package borrowing func end() { ending.store(true, ordering: .releasing) }

    /// Puts `new` in place and returns the table that it replaces, which the worker may still be using.
    package borrowing func exchange(_ new: Table) -> Table {
        let old = table.exchange(
            UInt(bitPattern: new), ordering: .sequentiallyConsistent)
        return unsafe Table(bitPattern: old).unsafelyUnwrapped
    }

    /// The table in place; for its owner, once the worker has ended.
    package borrowing func currentTable() -> Table {
        unsafe Table(bitPattern: table.load(ordering: .sequentiallyConsistent)).unsafelyUnwrapped
    }

    /// Returns once the worker has been outside a batch at least for a moment; a batch is bounded by
    /// non-blocking sends, so this takes microseconds.
    package borrowing func awaitQuiescence() {
        let seen = epoch.load(ordering: .sequentiallyConsistent)
        guard seen % 2 == 1 else { return }
        while epoch.load(ordering: .sequentiallyConsistent) == seen { cnet_pause(20) }
    }
}
