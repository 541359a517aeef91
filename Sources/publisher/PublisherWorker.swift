// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet

/// The loop of one thread: waits until datagrams of its share are due, composes them in batches and sends them. It
/// retries nothing: a datagram that the kernel does not accept has failed.
struct PublisherWorker: ~Copyable {
    /// The work of a worker.
    struct Assignment: Sendable {
        let share: Share
        let pace: Pace
        let size: Int?
        let destination: cnet_name
        /// A socket for each of its sources if they are connected, else one for all.
        let outlets: [Outlet]
        let isConnected: Bool
        /// Its source addresses; empty = the kernel's choice.
        let addresses: [IPAddress]
        let accounting: Accounting
        let stop: Stop
        /// Prints each message, in a slow run.
        let commentary: Commentary?
    }

    /// Shortest sleep, nanoseconds: at high rates it turns single sends into batches.
    private static let nap: Int64 = 100_000

    private let work: Assignment
    private let memory: WorkerMemory
    private let isConnected: Bool
    private let ownSources: Int
    /// Sources of the whole run: the distance between two numbers of the same source.
    private let sources: UInt64
    /// The distance between its numbers within a round.
    private let step: UInt64
    /// Datagrams of its share attempted so far.
    private var attempted: UInt64 = 0
    /// The next datagram: the index of its source, its number, and the first number of this round of sources.
    private var turn = 0
    private var number: UInt64
    private var round: UInt64
    private var tally = Tally()

    /// The result of one round of calls.
    private struct Tally {
        var sent: UInt64 = 0
        var bytes: UInt64 = 0
        /// Entries of `memory.codes`.
        var failed = 0
    }

    init(_ work: Assignment) {
        self.work = work
        isConnected = work.isConnected
        ownSources = work.share.ownSources
        sources = UInt64(work.share.sources)
        step = UInt64(work.share.workers)
        round = UInt64(work.share.worker)
        number = round
        let list = (0..<ownSources).map { index in
            let address = work.addresses.isEmpty ? nil : work.addresses[index]
            let outlet = work.outlets[work.isConnected ? index : 0]
            return WorkerSource(
                descriptor: outlet.socket.descriptor, isNamed: address != nil && !work.isConnected,
                isIPv6: address?.family == .v6, high: address?.high ?? 0, low: address?.low ?? 0)
        }
        memory = WorkerMemory(
            sources: list, size: work.size,
            destination: work.isConnected ? nil : work.destination)
    }

    /// Runs until its share or the time ends, or until it is stopped.
    ///
    /// - Parameter start: of the whole run, by `MonotonicClock`.
    mutating func run(from start: Int64) {
        let pace = work.pace
        let batch = UInt64(work.commentary == nil ? WorkerMemory.batch : 1)
        let quota = pace.total.map { work.share.count(below: $0) } ?? .max
        while !work.stop.isRequested, attempted < quota {
            let now = MonotonicClock.now
            let isOver = pace.isOver(at: now - start)
            let due = work.share.count(below: pace.due(at: now - start))
            let backlog = due - min(due, attempted)
            // Datagrams that have just become due are still sent, a backlog is not.
            if isOver, pace.rate == 0 || backlog == 0 || backlog > batch { return }
            if backlog > 0 {
                send(Int(min(backlog, batch)))
            } else {
                let next = start + pace.moment(of: number)
                let end = pace.duration.map { start + $0 } ?? .max
                work.stop.wait(until: min(max(next, now + Self.nap), max(end, now)))
            }
        }
    }

    /// Sends the next `count` datagrams of the share, at most a batch.
    private mutating func send(_ count: Int) {
        let (first, source) = (number, turn)
        compose(count)
        var next = 0
        repeat {
            tally = Tally()
            next = isConnected ? deliverSingly(next, count) : deliver(next, count)
            publish()
        } while next < count && !work.stop.isRequested
        guard let commentary = work.commentary else { return }
        let address = work.addresses.isEmpty ? nil : work.addresses[source]
        let error = unsafe tally.failed > 0 ? memory.codes[0] : 0
        if !commentary.attempted(first, from: address, error: error) {
            work.stop.request(.closed)
        }
    }

    private mutating func publish() {
        attempted += tally.sent + UInt64(tally.failed)
        work.accounting.add(sent: tally.sent, bytes: tally.bytes)
        for index in 0..<tally.failed { unsafe work.accounting.add(failed: memory.codes[index]) }
    }

    @_noLocks @_noAllocation
    private mutating func compose(_ count: Int) {
        for index in 0..<count {
            memory.compose(index, number: number, source: turn)
            turn &+= 1
            number &+= step
            if turn == ownSources {
                turn = 0
                round &+= sources
                number = round
            }
        }
    }

    /// One sendmmsg for all, and one more after each error: the kernel reports only the first message's error, so
    /// after a short call the next one begins with the failed message.
    ///
    /// - Returns: the first message not attempted: `count`, or the one after a timed-out wait.
    @_noLocks @_noAllocation
    private mutating func deliver(_ first: Int, _ count: Int) -> Int {
        var next = first
        while next < count {
            let result = unsafe cnet_send_batch(
                memory.descriptors[0], memory.messages + next, UInt32(count &- next), 0)
            if result == -EINTR { continue }
            if note(result, next) { return next &+ 1 }
            next &+= max(1, Int(result))
        }
        return next
    }

    /// One call a message, on its source's socket. A connected socket reports the ICMP error for an earlier datagram
    /// once, at the next send; sendmmsg would lose it after the first message.
    ///
    /// - Returns: the first message not attempted: `count`, or the one after a timed-out wait.
    @_noLocks @_noAllocation
    private mutating func deliverSingly(_ first: Int, _ count: Int) -> Int {
        var next = first
        while next < count {
            let result = unsafe cnet_send_batch(
                memory.descriptors[next], memory.messages + next, 1, 0)
            if result == -EINTR { continue }
            if note(result, next) { return next &+ 1 }
            next &+= 1
        }
        return next
    }

    /// Counts the messages from `first` on: `result` messages sent, or one failed with the errno `-result`.
    ///
    /// - Returns: whether the wait for the send buffer timed out, so that the caller should check for a stop.
    @_noLocks @_noAllocation
    private mutating func note(_ result: Int32, _ first: Int) -> Bool {
        if result > 0 {
            for index in first..<first &+ Int(result) {
                unsafe tally.bytes &+= memory.lengths[index]
            }
            tally.sent &+= UInt64(truncatingIfNeeded: result)
            return false
        }
        unsafe memory.codes[tally.failed] = -result
        tally.failed &+= 1
        return result == -EAGAIN
    }
}
