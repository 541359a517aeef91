// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet

/// The loop of one thread: waits until datagrams of its share are due, composes them in batches and
/// hands them to the kernel. Nothing is tried twice: what the kernel does not take has failed.
struct PublisherWorker: ~Copyable {
    /// What a worker is given.
    struct Assignment: Sendable {
        let share: Share
        let pace: Pace
        let size: Int?
        let destination: cnet_name
        /// A socket for each of its sources if they are connected, else one for all.
        let outlets: [Outlet]
        let isConnected: Bool
        /// Its own; empty = what the kernel chooses.
        let addresses: [IPAddress]
        let accounting: Accounting
        let stop: Stop
        /// What says each message, in a run slow enough for that.
        let commentary: Commentary?
    }

    /// Shortest sleep, nanoseconds: at high rates it makes batches of what would else be single sends.
    private static let nap: Int64 = 100_000

    private let work: Assignment
    private let memory: WorkerMemory
    private let isConnected: Bool
    private let ownSources: Int
    /// Sources of the whole run: from one of its own numbers to that of the same source's next turn.
    private let sources: UInt64
    /// From one of its own numbers to the next within a round.
    private let step: UInt64
    /// Datagrams of its share attempted so far.
    private var attempted: UInt64 = 0
    /// The next datagram: which of its own sources it leaves from, its number, and the number that
    /// this round of its sources began with.
    private var turn = 0
    private var number: UInt64
    private var round: UInt64
    private var tally = Tally()

    /// What one round of calls has done.
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

    /// Runs to the end of its share, of the time or until it is stopped.
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
            // What has just become due still goes; a backlog that cannot be made up for does not.
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

    /// One sendmmsg for all, and one more after each error: the kernel reports that of the first message
    /// only, so the call after one that stopped short begins with the message that stopped it.
    ///
    /// - Returns: the first message not attempted: `count`, or the one behind a wait in vain.
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

    /// One call a message, on its source's own socket. A connected socket reports the ICMP answer to
    /// an earlier datagram at the next send and then forgets it, and sendmmsg would swallow it behind
    /// the first message.
    ///
    /// - Returns: the first message not attempted: `count`, or the one behind a wait in vain.
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

    /// Counts what became of the messages from `first` on: as many as `result` says were sent, or one
    /// that failed with that errno, negative.
    ///
    /// - Returns: whether there was no room in the send buffer for so long that the caller should look
    ///   whether the run goes on.
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
