// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet

// The life of a datagram in userspace mode:
//
//   receive   recvmmsg with UDP_GRO: up to `BatchWindow.size` messages, each a datagram or a super-packet
//   admit     count it; too long: `oversize`; nobody ready: `no_healthy`
//   key       counter, random number, hash of the source or of the four-tuple
//   slot      slots[key mod n] names the receiver; the datagram joins the receiver's chain of runs
//   send      receiver by receiver: runs of equal-sized datagrams leave as UDP_SEGMENT super-packets,
//             the rest one by one, all by sendmmsg on the receiver's own connected socket
//   count     forwarded, or one drop reason, for the receiver and for the listener
//
// Every path ends in exactly one count. Nothing here allocates or locks; the compiler proves it.

/// The loop of one thread over one socket of a listener.
@safe struct UserspaceWorker: ~Copyable, WorkerLoop {
    let descriptor: Int32
    let key: Balance.KeySource
    /// Of the hash.
    let seed: UInt64
    let maxPacketSize: Int32
    let counters: CounterRow
    let batches: BatchCount
    // SAFETY: the plane keeps the table until this worker has another one or has ended.
    var table: UnsafeMutablePointer<WorkerTable>
    let mailbox: WorkerMailbox<UserspaceWorker>
    var isEnding = false
    /// Whether it forwards what is in its queue before it ends.
    var drainsAtEnd = false
    let memory: BatchMemory
    /// The listener's own address and port, for the four-tuple; a wildcard is looked up a datagram.
    let bound: BoundAddress

    /// The next slot of `counter`.
    var turn: UInt32
    /// State of the generator of `randomNumber`, never 0.
    var random: UInt64
    var window: BatchWindow
    let trials: TrialFlags
    /// The receiver that gets the first datagram of this batch, whatever its slot says; or -1.
    var trial: Int32 = -1
    /// Datagrams in one super-packet. Falls to 64 on kernels before 6.9, which take no more.
    var segmentsMax: Int32 = 128
    /// Most payload of one super-packet, bytes. The IP datagram that it would be, headers included, has
    /// to stay below 64 KiB (kernel: IP_MAX_MTU, 65520).
    let superPacketBytes: Int32 = 65_000
    /// Batches for which a receiver whose path refused a super-packet gets single datagrams.
    let superPacketHoldOff: Int32 = 10_000
    var runCount: Int32 = 0
    var touchedCount = 0
    var tally = Tally()

    /// What one batch adds to the listener's row, written once a batch.
    struct Tally {
        var packetsReceived: UInt64 = 0
        var bytesReceived: UInt64 = 0
        var packetsForwarded: UInt64 = 0
        var bytesForwarded: UInt64 = 0
        var sendCalls: UInt64 = 0

        @_noLocks @_noAllocation
        init() {}
    }

    init(
        _ plan: ListenerWorker.Plan, descriptor: Int32, table: UnsafeMutablePointer<WorkerTable>,
        mailbox: WorkerMailbox<UserspaceWorker>, counters: CounterRow, batches: BatchCount
    ) {
        let settings = plan.listener.settings
        self.descriptor = descriptor
        key = plan.listener.balance.keySource
        seed = settings.seed
        maxPacketSize = Int32(settings.maxPacketSize)
        self.counters = counters
        self.batches = batches
        unsafe self.table = unsafe table
        self.mailbox = mailbox
        window = BatchWindow(start: settings.batchSize)
        memory = BatchMemory(capacity: window.capacity)
        bound = BoundAddress(plan.listener.bind)
        // Workers begin at different slots, lest all of them open with the same receiver.
        turn = UInt32(plan.index) &* 0x9e37_79b1
        random = .random(in: 1...UInt64.max)
        trials = plan.trials.flags
    }

    /// Runs until the plane ends it.
    mutating func run() {
        while !isEnding {
            if mailbox.isEmpty {
                turnOnce(flags: CNET_WAIT_FOR_ONE)
            } else {
                mailbox.run(on: &self)
            }
        }
        if drainsAtEnd { drain() }
    }

    /// Forwards what is in the socket at this moment, and what comes meanwhile if it does not end.
    mutating func empty() {
        let end = ContinuousClock.now + Self.emptiesAtMost
        while turnOnce(flags: CNET_DONT_WAIT) > 0, ContinuousClock.now < end {}
    }

    /// Forwards what is still in the socket, the last thing that is done.
    mutating func drain() {
        // The plane has led new datagrams elsewhere. One that was on its way into this socket's queue
        // arrives within the pause. Where they could not be led elsewhere there is no end to them.
        let end = ContinuousClock.now + Self.drainsAtMost
        for _ in 0..<2 {
            while turnOnce(flags: CNET_DONT_WAIT) > 0, ContinuousClock.now < end {}
            cnet_pause(1000)
        }
    }

    /// Longest time that a worker takes to empty its socket: that of about a million datagrams.
    static let drainsAtMost = Duration.seconds(2)

    /// The same for one whose datagrams are not led elsewhere: another process will read them.
    static let emptiesAtMost = Duration.milliseconds(100)

    /// One batch: how many messages it had, or -errno.
    @discardableResult
    @_noLocks @_noAllocation
    mutating func turnOnce(flags: Int) -> Int32 {
        // MSG_TRUNC reports the true length of a datagram that the buffer cut.
        let flags = Int32(flags | CNET_TRUNCATED)
        let received = unsafe cnet_receive_batch(
            descriptor, memory.incoming, UInt32(window.size), flags)
        guard received > 0 else {
            pauseAfter(received)
            return received
        }
        batches.step()
        tally = Tally()
        trial = trials.take()
        for index in 0..<Int(received) {
            unsafe admit(index, table)
            memory.rearm(index)
        }
        unsafe sendAll(table)
        publish()
        batches.step()
        window.adapt(to: Int(received), bytes: tally.bytesReceived)
        return received
    }

    /// Sends what has been put on the receivers' chains.
    @_noLocks @_noAllocation
    mutating func sendAll(_ table: UnsafeMutablePointer<WorkerTable>) {
        for index in 0..<touchedCount {
            let target = unsafe table.pointee.targets + Int(memory.touched[index])
            if unsafe target.pointee.preservesSource {
                unsafe sendPreserving(target)
            } else {
                unsafe send(target)
            }
            unsafe target.pointee.head = -1
            unsafe target.pointee.tail = -1
        }
        runCount = 0
        touchedCount = 0
    }

    /// Errors of the receive call are not a datagram's: EINTR and EAGAIN are normal, anything else
    /// (ENOMEM, say) passes with time and must not become a busy loop.
    @_noLocks @_noAllocation
    private func pauseAfter(_ result: Int32) {
        if result == -EINTR || result == -EAGAIN || result == 0 { return }
        cnet_pause(1000)
    }

    @_noLocks @_noAllocation
    private func publish() {
        counters.add(tally.packetsReceived, at: LB_COUNT_PACKETS_RECEIVED)
        counters.add(tally.bytesReceived, at: LB_COUNT_BYTES_RECEIVED)
        counters.add(tally.packetsForwarded, at: LB_COUNT_PACKETS_FORWARDED)
        counters.add(tally.bytesForwarded, at: LB_COUNT_BYTES_FORWARDED)
        counters.add(tally.sendCalls, at: LB_COUNT_SEND_CALLS)
        counters.add(1, at: LB_COUNT_RECEIVE_CALLS)
    }
}
