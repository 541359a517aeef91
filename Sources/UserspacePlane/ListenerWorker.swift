// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Logging
internal import Workers

/// One worker as the plane holds it: its socket, its thread and the table that it looks things up in.
@safe final class ListenerWorker {
    /// What the thread needs to know of the listener, fixed for the worker's life.
    struct Plan {
        let listener: Listener
        /// 0-based among the listener's workers.
        let index: Int
        /// The CPU to stay on, if any.
        let cpu: Int?
        /// Of all of the listener's workers.
        let trials: Trials
    }

    private let plan: Plan
    private let socket: Socket
    let counters = CounterRow()
    private(set) var links: [Endpoint: DownstreamLink]
    // SAFETY: allocated in init, freed in deinit, which runs only after the thread has ended.
    private let cell: UnsafeMutablePointer<WorkerCell>
    /// A thread is started before it is certain that its listener will be: the plane opens the gate
    /// once nothing can fail any more.
    private let gate = Gate()
    private var isOpen = false
    private let sign = ParkingSign()
    private var thread: Thread?

    /// Starts the thread, which waits for `open`; without it the thread ends with this value.
    init(
        _ plan: Plan, socket: consuming Socket, table: PreparedTable, logger: Logger
    ) throws(PlaneError) {
        self.plan = plan
        self.socket = socket
        links = table.links
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: WorkerCell(UnsafeMutableRawPointer(table.take())))
        let entry = unsafe Entry(
            cell: cell, descriptor: self.socket.descriptor, counters: counters, plan: plan,
            gate: gate, sign: sign, logger: logger)
        do throws(SystemError) {
            thread = try Thread(name: "fanout-\(plan.listener.name)") { entry.run() }
        } catch {
            throw PlaneError(starting: error, of: plan.listener)
        }
    }

    deinit {
        if let thread = thread.take() {
            gate.decide(goOn: false)
            if let parking = sign.parking {
                parking.decide(goOn: false)
            } else if isOpen {
                turnAway()
                endAfterQueue()
            }
            thread.join()
        }
        let table = unsafe cell.pointee.currentTable().assumingMemoryBound(to: WorkerTable.self)
        unsafe WorkerTable.free(table)
        unsafe cell.deinitialize(count: 1)
        unsafe cell.deallocate()
        counters.free()
    }

    /// Binds a socket that shares its address with others of ours: from now on datagrams come to it.
    func join() throws(PlaneError) {
        do throws(SystemError) {
            try socket.bind(to: plan.listener.bind, sharing: .joining)
        } catch {
            throw PlaneError(binding: error, of: plan.listener)
        }
    }

    /// Borrowed: open as long as this worker lives.
    var descriptor: Int32 { socket.descriptor }

    /// Lets the worker receive.
    func open() {
        isOpen = true
        gate.decide(goOn: true)
    }

    /// Puts a table in place. When it returns the worker no longer uses the one before, nor the sockets
    /// that only that one named.
    func adopt(_ table: PreparedTable) {
        let kept = table.links
        let old = unsafe cell.pointee.exchange(UnsafeMutableRawPointer(table.take()))
        unsafe cell.pointee.awaitQuiescence()
        unsafe WorkerTable.free(old.assumingMemoryBound(to: WorkerTable.self))
        links = kept
    }

    /// Leads new datagrams elsewhere.
    func turnAway() { socket.turnAway(from: plan.listener.bind) }

    /// Tells the worker to forward what is in its queue and end.
    func endAfterQueue() {
        unsafe cell.pointee.end()
        socket.wakeReceiver()
    }

    /// Waits until the worker has ended.
    func finishRetiring() { thread.take()?.join() }

    // MARK: Beside another process

    /// Has the worker stop reading, with what is in its queue left there; `isPaused` says when it has.
    func pause(emptyingQueue: Bool) {
        sign.parking = Parking(emptiesQueue: emptyingQueue)
        unsafe cell.pointee.pause()
    }

    /// Whether it reads no more. It is woken as often as this is asked, since it may have been about to
    /// wait when it was woken before.
    var isPaused: Bool {
        guard let parking = sign.parking, thread != nil else { return true }
        thread?.interrupt()
        return parking.hasArrived()
    }

    /// Has a worker that is paused read again.
    func goOn() {
        guard let parking = sign.parking else { return }
        sign.parking = nil
        unsafe cell.pointee.goOn()
        parking.decide(goOn: true)
    }

    /// Ends a worker that is paused. Its socket stays as it is, for whoever reads from it now.
    func leave() {
        sign.parking?.decide(goOn: false)
        finishRetiring()
    }

    /// What the worker is doing at this moment.
    var progress: WorkerProgress {
        let turns = unsafe cell.pointee.turns()
        return WorkerProgress(
            worker: "\(plan.listener.name)/\(plan.index)", epoch: turns,
            hasWork: turns % 2 == 1 || socket.hasInput)
    }

    /// Datagrams that the kernel dropped at this worker's socket.
    var kernelDrops: UInt64 { socket.kernelDrops }
}

/// What runs on the thread.
@safe private struct Entry: @unchecked Sendable {
    // SAFETY: ListenerWorker frees the cell and the row only after it has joined the thread.
    let cell: UnsafeMutablePointer<WorkerCell>
    let descriptor: Int32
    let counters: CounterRow
    let plan: ListenerWorker.Plan
    let gate: Gate
    let sign: ParkingSign
    let logger: Logger

    func run() {
        if let cpu = plan.cpu {
            do {
                try CPUAffinity.pinCurrentThread(to: cpu)
            } catch {
                logger.warning(
                    "worker is not pinned", metadata: ["cpu": "\(cpu)", "error": "\(error)"])
            }
        }
        guard gate.pass() else { return }
        logger.debug(
            "entering receive loop",
            metadata: ["listener": "\(plan.listener.name)", "worker": "\(plan.index)"])
        let listener = plan.listener
        let window = BatchWindow(start: listener.settings.batchSize)
        var worker = unsafe UserspaceWorker(
            descriptor: descriptor, key: listener.balance.keySource,
            seed: listener.settings.seed,
            maxPacketSize: Int32(listener.settings.maxPacketSize), counters: counters, cell: cell,
            memory: BatchMemory(capacity: window.capacity),
            bound: BoundAddress(listener.bind),
            // Workers begin at different slots, lest all of them open with the same receiver.
            turn: UInt32(plan.index) &* 0x9e37_79b1,
            random: UInt64.random(in: 1...UInt64.max), window: window,
            trials: plan.trials.flags)
        worker.receive()
        while unsafe cell.pointee.isPausing(), let parking = sign.parking {
            if parking.emptiesQueue { worker.empty() }
            guard parking.wait() else { return }
            worker.receive()
        }
        worker.drain()
    }
}
