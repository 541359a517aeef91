// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import KernelForwarding
internal import LinuxNet
internal import Logging
internal import XDPSockets

/// The plane's side of one worker: the queue that it receives from, its memory, its sockets, its thread.
@safe final class QueueWorker {
    let queue: InterfaceQueue
    let shape: Umem.Shape
    let ingress: SharedSocket
    let counts = QueueRow()
    /// The sockets of other interfaces or queues to send by.
    private(set) var egresses: [InterfaceQueue: SharedSocket] = [:]
    private(set) var prepared = PreparedTable.empty()
    private var pastStatistics = XDPStatistics()
    private let batches = BatchCount()
    private let thread: WorkerThread<AFXDPWorker>

    /// The settings of a worker.
    struct Plan {
        var shape: Umem.Shape
        var isCopying: Bool
        var isPolling: Bool
        /// The CPU to pin the thread to, if any.
        var cpu: Int?
    }

    /// Binds to the queue and starts the thread. Packets arrive once the queue is steered to `ingress`.
    ///
    /// - Throws: `PlaneError` with the remedy.
    init(
        on queue: InterfaceQueue, _ plan: Plan, logger: Logger
    ) throws(PlaneError) {
        self.queue = queue
        shape = plan.shape
        do {
            let umem = try Umem(plan.shape)
            let base = unsafe umem.base
            let store = umem.makeFrameStore()
            var settings = XDPSocket.Settings()
            // Every frame needs an entry: while the thread waits for a CPU, packets wait here.
            settings.receiveEntries = plan.shape.fillEntries
            if plan.isCopying { settings.copying = .always }
            if plan.isPolling { settings.busyPolling = XDPSocket.Settings.BusyPolling() }
            ingress = SharedSocket(try XDPSocket(on: queue, using: umem, settings))
            let mailbox = WorkerMailbox<AFXDPWorker>()
            let worker = unsafe AFXDPWorker(
                store: store, ingress: ingress.pointer, table: prepared.table, base: base,
                fillTarget: UInt32(plan.shape.fillEntries),
                polling: plan.isPolling ? .busy : .sleeping, mailbox: mailbox, counts: counts,
                batches: batches, fallback: try FallbackBatch(),
                random: .random(in: 1...UInt64.max))
            thread = try WorkerThread(
                worker, mailbox: mailbox, name: "xdp-\(queue.interfaceName ?? "")-\(queue.queue)",
                cpu: plan.cpu, logger: logger, fields: ["queue": "\(queue)"])
        } catch {
            counts.free()
            batches.free()
            throw PlaneError(opening: queue, error)
        }
        thread.open()
    }

    deinit {
        end()
        counts.free()
        batches.free()
    }

    // MARK: Tables

    /// Why a worker cannot send by the rings of an interface that has no listener, and so no XDP program; nil when it
    /// can. A socket that shares a memory copies as the memory's first socket does (xp_assign_dev_shared in
    /// net/xdp/xsk_buff_pool.c), and drivers send from the frames themselves only while they have a program
    /// (ice_xsk_wakeup, i40e_xsk_wakeup). With one, they would also receive into frames of this memory.
    static func objectionToEgress(isZeroCopy: Bool) -> String? {
        isZeroCopy
            ? "with zero copy its driver transmits only while an XDP program is there" : nil
    }

    /// A socket of another interface or queue that shares this worker's memory. The worker uses it once a table refers
    /// to it.
    func openEgress(_ queue: InterfaceQueue) throws(XDPSocketError) -> SharedSocket {
        var settings = XDPSocket.Settings()
        settings.busyLimit = .milliseconds(60)
        return SharedSocket(
            unsafe try XDPSocket(
                on: queue, sharingMemoryOf: ingress.pointer.pointee, settings))
    }

    /// Replaces the worker's table. When it returns the worker uses no other, and sockets that only the previous table
    /// used are closed.
    func adopt(_ next: PreparedTable) {
        thread.ask { worker in unsafe worker.table = unsafe next.table }
        prepared = next
        let kept = next.egresses.filter { $0 !== ingress }
        let leaving = egresses.values.filter { socket in !kept.contains { $0 === socket } }
        egresses = Dictionary(uniqueKeysWithValues: kept.map { ($0.queue, $0) })
        close(leaving)
    }

    /// Packets in the rings are still sent, unless the kernel does not accept them.
    private func close(_ leaving: [SharedSocket]) {
        let numbers = leaving.map { socket in
            thread.ask { worker in worker.empty(socket) }
            return socket.number
        }
        guard !numbers.isEmpty else { return }
        pastStatistics = leaving.compactMap(\.statistics).reduce(pastStatistics, +)
        closeLater(leaving)
        for number in numbers { thread.ask { worker in worker.store.reclaim(from: number) } }
    }

    /// The references passed here are the last.
    private func closeLater(_ sockets: consuming [SharedSocket]) { _ = consume sockets }

    /// The worker's current activity.
    var progress: WorkerProgress {
        let batches = batches.value
        return WorkerProgress(
            worker: "\(queue.interfaceName ?? "\(queue.interface)")/\(queue.queue)", epoch: batches,
            hasWork: batches % 2 == 1 || ingress.hasInput)
    }

    // MARK: Commands

    /// Waits until all received packets are forwarded or counted, and the kernel has the packets to send.
    func settle() { thread.ask { worker in worker.settle() } }

    /// The places of the frames.
    func census() -> FrameCensus { thread.ask { worker in worker.census() } }

    /// Ends the thread, and waits for it. Packets in the rings go first.
    func end() {
        thread.ask { worker in
            guard !worker.isEnding else { return }
            worker.settle()
            worker.isEnding = true
        }
        thread.end()
    }

    /// The kernel's counters of its sockets, including closed ones.
    var statistics: XDPStatistics {
        ([ingress] + egresses.values).compactMap(\.statistics).reduce(pastStatistics, +)
    }
}

/// An AF_XDP socket at a fixed place in memory, so that tables can refer to it. The plane opens and closes it; in
/// between only the worker uses its rings.
@safe final class SharedSocket: @unchecked Sendable {
    // SAFETY: initialised in init; freed in deinit, after the worker has taken a table that does not name
    // it, or has ended.
    let pointer: UnsafeMutablePointer<XDPSocket>
    let queue: InterfaceQueue
    /// The number among the sockets of the memory.
    let number: UInt8

    init(_ socket: consuming XDPSocket) {
        queue = socket.queue
        number = socket.number
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(to: socket)
    }

    deinit {
        unsafe pointer.deinitialize(count: 1)
        unsafe pointer.deallocate()
    }

    /// The kernel's counters of the open sockets; nil when it does not report them.
    var statistics: XDPStatistics? { unsafe try? pointer.pointee.statistics() }

    /// Whether packets wait for the worker, or the worker holds some.
    var hasInput: Bool { unsafe pointer.pointee.receive.unread > 0 }

    /// For an XSKMAP.
    var descriptor: Int32 { unsafe pointer.pointee.descriptor }

    var isZeroCopy: Bool { unsafe pointer.pointee.isZeroCopy }
}

extension PlaneError {
    /// The oldest kernel that the program and the sockets run on: multi-buffer XDP programs (`xdp.frags`, Linux 5.18).
    static let oldestKernel = "5.18"

    /// An error of libbpf or the kernel.
    init(_ error: BPFError) {
        self.init(
            error, mode: .afXDP, oldestKernel: Self.oldestKernel,
            lacking: Capabilities.kernelPrograms.subtracting(.permitted).names)
    }

    /// Another daemon's program is on the interface.
    init(serving interface: String, _ occupant: XDPOccupant) {
        self.init(
            operation: "attach", subject: "\(SteerProgram.name) to interface \(interface)",
            code: EBUSY, reason: "another udp-fanout serves it (program \(occupant.number))",
            remedy: "stop that one first, or set another interface")
    }

    /// The error when a queue's worker cannot be created.
    init(opening queue: InterfaceQueue, _ error: any Error) {
        switch error {
        case let error as XDPSocketError:
            self.init(
                operation: error.operation, subject: error.subject, code: error.errno,
                reason: error.reason, remedy: error.remedy)
        case let error as SystemError:
            self.init(
                operation: error.operation, subject: "\(queue)", code: error.code,
                reason: error.reason, remedy: "raise the limits of open files and threads (ulimit)")
        default:
            self.init(
                operation: "open", subject: "\(queue)", reason: "\(error)", remedy: "see the log")
        }
    }
}
