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
    /// 0: it is to go on; else it is to leave its loop: to end, or to wait.
    @usableFromInline let order = Atomic<UInt8>(0)

    private static let ends: UInt8 = 1
    private static let waits: UInt8 = 2

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
    package borrowing func isEnding() -> Bool { order.load(ordering: .acquiring) != 0 }

    /// Whether it is to wait, rather than to end.
    package borrowing func isPausing() -> Bool { order.load(ordering: .acquiring) == Self.waits }

    // MARK: The plane's side

    /// How often the worker has begun or ended a batch; odd in a batch.
    package borrowing func turns() -> UInt64 { epoch.load(ordering: .acquiring) }

    package borrowing func end() { order.store(Self.ends, ordering: .releasing) }

    /// Has it leave its loop until `goOn`; a worker that is to end stays so.
    package borrowing func pause() {
        _ = order.compareExchange(
            expected: 0, desired: Self.waits, ordering: .acquiringAndReleasing)
    }

    package borrowing func goOn() {
        _ = order.compareExchange(
            expected: Self.waits, desired: 0, ordering: .acquiringAndReleasing)
    }

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
