// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import LinuxNet
internal import Synchronization

/// What the plane and one worker share: the worker's table, whether it is in a batch, and whether it
/// is to end. Swapping the table takes no lock on the worker's side.
struct WorkerCell: ~Copyable {
    typealias Table = UnsafeMutablePointer<WorkerTable>

    private let table: Atomic<UInt>
    /// Odd while the worker uses a table.
    private let epoch = Atomic<UInt64>(0)
    private let ending = Atomic<Bool>(false)
    private let gate = Atomic<Gate>(.closed)
    private let latch = Latch()

    /// A worker is started before it is certain that its listener will be: the plane opens the gate
    /// once nothing can fail any more.
    enum Gate: UInt8, AtomicRepresentable { case closed, open, abandoned }

    init(_ first: Table) { table = Atomic(UInt(bitPattern: first)) }

    // MARK: The worker's side

    /// Opens a batch. The table stays valid until `leave`.
    @_noLocks @_noAllocation @inline(__always)
    borrowing func enter() -> Table {
        // The exchange is a full barrier: a plane that does not see the odd epoch has already put its
        // table where the load below finds it.
        let now = epoch.load(ordering: .relaxed)
        _ = epoch.exchange(now &+ 1, ordering: .sequentiallyConsistent)
        // SAFETY: the word is the address of a table that the plane keeps until this batch is over.
        return unsafe Table(bitPattern: table.load(ordering: .sequentiallyConsistent))
            .unsafelyUnwrapped
    }

    @_noLocks @_noAllocation @inline(__always)
    borrowing func leave() {
        epoch.store(epoch.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    @_noLocks @_noAllocation @inline(__always)
    borrowing func isEnding() -> Bool { ending.load(ordering: .acquiring) }

    /// Waits for the plane's decision: whether to go on.
    borrowing func passGate() -> Bool {
        latch.wait()
        return gate.load(ordering: .acquiring) == .open
    }

    // MARK: The plane's side

    borrowing func open() {
        gate.store(.open, ordering: .releasing)
        latch.open()
    }

    borrowing func abandon() {
        gate.store(.abandoned, ordering: .releasing)
        latch.open()
    }

    borrowing func isHeldAtGate() -> Bool { gate.load(ordering: .acquiring) == .closed }

    borrowing func end() { ending.store(true, ordering: .releasing) }

    /// Puts `new` in place and returns the table that it replaces, which the worker may still be using.
    borrowing func exchange(_ new: Table) -> Table {
        let old = table.exchange(
            UInt(bitPattern: new), ordering: .sequentiallyConsistent)
        return unsafe Table(bitPattern: old).unsafelyUnwrapped
    }

    /// The table in place; for its owner, once the worker has ended.
    borrowing func currentTable() -> Table {
        unsafe Table(bitPattern: table.load(ordering: .sequentiallyConsistent)).unsafelyUnwrapped
    }

    /// Returns once the worker has been outside a batch at least for a moment; a batch is bounded by
    /// non-blocking sends, so this takes microseconds.
    borrowing func awaitQuiescence() {
        let seen = epoch.load(ordering: .sequentiallyConsistent)
        guard seen % 2 == 1 else { return }
        while epoch.load(ordering: .sequentiallyConsistent) == seen { cnet_pause(20) }
    }
}
