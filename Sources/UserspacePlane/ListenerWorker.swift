// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Logging

/// The plane's side of one worker: its socket, its thread and its table.
@safe final class ListenerWorker {
    /// The worker's settings of the listener, fixed for its life.
    struct Plan {
        let listener: Listener
        /// 0-based among the listener's workers.
        let index: Int
        /// The CPU to pin the thread to, if any.
        let cpu: Int?
        /// The counters of all of the listener's workers.
        let trials: Trials
    }

    private let plan: Plan
    private let socket: Socket
    let counters = CounterRow()
    private let batches = BatchCount()
    private var table: PreparedTable
    private let thread: WorkerThread<UserspaceWorker>
    private var isOpen = false

    var links: [Endpoint: DownstreamLink] { table.links }

    /// Starts the thread, which waits for `open`; without it the thread ends with this value.
    init(
        _ plan: Plan, socket: consuming Socket, table: PreparedTable, logger: Logger
    ) throws(PlaneError) {
        self.plan = plan
        self.socket = socket
        self.table = table
        let mailbox = WorkerMailbox<UserspaceWorker>()
        let worker = unsafe UserspaceWorker(
            plan, descriptor: self.socket.descriptor, table: table.table, mailbox: mailbox,
            counters: counters, batches: batches)
        do throws(SystemError) {
            thread = try WorkerThread(
                worker, mailbox: mailbox, name: "fanout-\(plan.listener.name)", cpu: plan.cpu,
                logger: logger,
                fields: ["listener": "\(plan.listener.name)", "worker": "\(plan.index)"])
        } catch {
            counters.free()
            batches.free()
            throw PlaneError(starting: error, of: plan.listener)
        }
    }

    deinit {
        if isOpen {
            turnAway()
            endAfterQueue()
        }
        thread.end()
        counters.free()
        batches.free()
    }

    /// Binds a socket that shares its address with others of this process: from now on datagrams arrive at it.
    func join() throws(PlaneError) {
        do throws(SystemError) {
            try socket.bind(to: plan.listener.bind, sharing: .joining)
        } catch {
            throw PlaneError(binding: error, of: plan.listener)
        }
    }

    /// Borrowed: open as long as this worker lives.
    var descriptor: Int32 { socket.descriptor }

    /// Lets the worker receive, for the first time or after a pause.
    func open() {
        isOpen = true
        thread.open()
    }

    /// Makes the worker use another table after the current batch.
    ///
    /// - Returns: a gate that opens when the worker uses neither the old table nor the sockets that only the old one
    ///   refers to; for `wait(for:)`.
    func beginAdopting(_ next: PreparedTable) -> Latch {
        let old = table
        table = next
        return thread.post { worker in
            unsafe worker.table = unsafe next.table
            _ = old
        }
    }

    func wait(for done: Latch) { thread.wait(for: done) }

    /// Routes new datagrams to other sockets.
    func turnAway() { socket.turnAway(from: plan.listener.bind) }

    /// Makes the worker forward its queue and end.
    func endAfterQueue() {
        guard isOpen else { return }
        isOpen = false
        thread.ask { worker in
            worker.drainsAtEnd = true
            worker.isEnding = true
        }
    }

    /// Waits until the worker has ended.
    func awaitEnd() { thread.end() }

    // MARK: Takeover by another process

    /// Makes the worker stop reading; `awaitPause` waits until it has.
    ///
    /// - Parameter emptyingQueue: whether to forward its queue first, with a time limit.
    func pause(emptyingQueue: Bool) {
        thread.pause { worker in if emptyingQueue { worker.empty() } }
    }

    func awaitPause() { thread.awaitPause() }

    /// Ends a paused worker. Its socket stays unchanged, for the process that reads from it now.
    func endPaused() {
        isOpen = false
        thread.end()
    }

    /// The worker's current activity.
    var progress: WorkerProgress {
        let batches = batches.value
        return WorkerProgress(
            worker: "\(plan.listener.name)/\(plan.index)", epoch: batches,
            hasWork: batches % 2 == 1 || socket.hasInput)
    }

    /// Datagrams that the kernel dropped at this worker's socket.
    var kernelDrops: UInt64 { socket.kernelDrops }
}
