// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc
internal import Synchronization

/// The state shared by the thread that reads a socket and the task that takes the datagrams.
///
/// The thread reads without blocking and waits in poll(2), for the socket and for its wake line. So it can be ended
/// without changing the socket, which others may continue to use; a wait in recvmmsg(2) could not.
final class DatagramReader: Sendable {
    struct Plan: Sendable {
        let batch: Int
        let maximumBytes: Int
        /// Batches that may be read before the task asks for them; at least 1.
        let ahead: Int
        /// The slot to retire from when the task is cancelled, before the queue is read to its end.
        var slot: SlotHandle?
        /// Retires at once.
        var drains = false
    }

    typealias Outcome = Result<DatagramBatch?, ReusePortError>

    private struct State {
        var ready: [DatagramBatch] = []
        var waiting: CheckedContinuation<Outcome, Never>?
        /// Reading has ended.
        var isEnded = false
        /// The member retires from its slot, by a plan or because the task was cancelled.
        var isRetiring: Bool
        /// The thread waits for room.
        var isPaused = false
        var error: ReusePortError?
    }

    private let socket: SocketHandle
    private let plan: Plan
    private let line: WakeLine
    private let state: Mutex<State>

    init(_ socket: SocketHandle, _ plan: Plan) throws(ReusePortError) {
        self.socket = socket
        self.plan = plan
        line = try WakeLine()
        state = Mutex(State(isRetiring: plan.drains))
    }

    // MARK: The task's side

    /// The next batch, nil at the end.
    func next() async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                var hasRoom = false
                let now: Outcome? = state.withLock { state in
                    if !state.ready.isEmpty {
                        hasRoom = state.isPaused
                        state.isPaused = false
                        return .success(state.ready.removeFirst())
                    }
                    if let error = state.error { return .failure(error) }
                    if state.isEnded { return .success(nil) }
                    state.waiting = continuation
                    return nil
                }
                if hasRoom { line.ring() }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            cancel()
        }
    }

    private func cancel() {
        if plan.slot == nil { return end(dropping: true) }
        state.withLock { $0.isRetiring = true }
        line.ring()
    }

    /// Ends the reading.
    ///
    /// - Parameter dropping: whether to drop what was read but not yet taken.
    func end(dropping: Bool = false, error: ReusePortError? = nil) {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            state.isEnded = true
            if dropping { state.ready = [] }
            state.error = state.error ?? error
            return state.waiting
        }
        waiting?.resume(returning: error.map { .failure($0) } ?? .success(nil))
        line.ring()
    }

    // MARK: The thread's side

    private enum Step { case end, retire, pause, read }

    private func step(_ hasRetired: Bool) -> Step {
        state.withLock { state in
            if state.isEnded { return .end }
            if state.isRetiring, !hasRetired { return .retire }
            state.isPaused = state.ready.count >= plan.ahead
            return state.isPaused ? .pause : .read
        }
    }

    /// The thread's main function.
    func run() {
        var pool = BatchPool(plan)
        // Nothing more arrives in the queue.
        var isLast = false
        var hasRetired = false
        var failure: ReusePortError?
        var watch = ReplacementWatch(plan.slot)
        while true {
            if watch.hasRetired() { (hasRetired, isLast) = (true, true) }
            switch step(hasRetired) {
            case .end: return
            case .retire:
                do throws(ReusePortError) { try plan.slot?.retire() } catch { failure = error }
                (hasRetired, isLast) = (true, true)
            case .pause: _ = line.wait(or: -1, milliseconds: watch.pollMilliseconds)
            case .read: read(pool.free(), &isLast, failure, watch.pollMilliseconds)
            }
        }
    }

    /// - Parameter failure: the error to report at the end of the queue.
    private func read(
        _ memory: BatchMemory, _ isLast: inout Bool, _ failure: ReusePortError?,
        _ milliseconds: Int32
    ) {
        let code = memory.batch.receive(from: socket.descriptor, atMost: nil, waits: false)
        if code < 0 {
            let place = socket.endpoint.map { "\($0)" } ?? "a socket"
            end(error: ReusePortError("receive at", place, errno: -code))
        } else if memory.batch.count > 0 {
            hand(over: DatagramBatch(memory: memory))
        } else if isLast {
            end(error: failure)
        } else {
            isLast = line.wait(or: socket.descriptor, milliseconds: milliseconds)
        }
    }

    private func hand(over datagrams: DatagramBatch) {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            if state.waiting == nil, !state.isEnded { state.ready.append(datagrams) }
            return state.waiting
        }
        waiting?.resume(returning: .success(datagrams))
    }
}

/// Retires a member that has been replaced, after a grace period in which it gets its slot back if the new member
/// fails.
private struct ReplacementWatch {
    private static let interval = Duration.milliseconds(100)
    private static let grace = Duration.milliseconds(500)

    private var slot: SlotHandle?
    private var next = ContinuousClock.now
    private var since: ContinuousClock.Instant?

    /// - Parameter slot: nil: there is nothing to watch.
    init(_ slot: SlotHandle?) { self.slot = slot }

    /// Longest wait until the next check; -1 without one.
    var pollMilliseconds: Int32 { slot == nil ? -1 : 100 }

    /// Whether the member has just retired.
    mutating func hasRetired() -> Bool {
        guard let slot else { return false }
        let now = ContinuousClock.now
        guard now >= next else { return false }
        next = now + Self.interval
        // A socket that has left its slot by other means is not replaced.
        guard (try? slot.isReplaced()) == true else {
            since = nil
            return false
        }
        let start = since ?? now
        since = start
        guard now - start >= Self.grace, (try? slot.retireIfReplaced()) == true else {
            return false
        }
        self.slot = nil
        return true
    }
}

/// The thread of one iterator, and ends with it. Signals are blocked in the thread.
final class DatagramThread {
    let reader: DatagramReader
    private let handle: UInt

    init(_ socket: SocketHandle, _ plan: DatagramReader.Plan) throws(ReusePortError) {
        reader = try DatagramReader(socket, plan)
        var handle: UInt = 0
        let box = unsafe Unmanaged.passRetained(reader)
        // SAFETY: the reader is retained above; the thread takes that reference, or we do on failure.
        let result = unsafe cnet_thread_start(
            &handle, 256 << 10, "datagrams",
            { argument in
                guard let argument = unsafe argument else { return }
                unsafe Unmanaged<DatagramReader>.fromOpaque(argument).takeRetainedValue().run()
            }, box.toOpaque())
        if result < 0 {
            unsafe box.release()
            throw ReusePortError("start", "the thread that reads a socket", errno: -result)
        }
        self.handle = handle
    }

    /// The thread never waits without its wake line, so this takes no longer than copying a batch.
    deinit {
        reader.end(dropping: true)
        _ = cnet_thread_join(handle)
    }
}
