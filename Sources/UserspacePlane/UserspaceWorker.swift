// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet

// The life of a datagram in userspace mode:
//
//   receive   recvmmsg with UDP_GRO: up to `BatchWindow.size` messages, each a datagram or a super-packet
//   admit     count it; too long: `oversize`; no receiver ready: `no_healthy`
//   key       counter, random number, hash of the source, the four-tuple or bytes of the payload
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
    /// The bytes of `payload`.
    let payloadKey: lb_payload_key
    /// The seed of the hash.
    let seed: UInt64
    let maxPacketSize: Int32
    let counters: CounterRow
    let batches: BatchCount
    // SAFETY: the plane keeps the table until this worker has another one or has ended.
    var table: UnsafeMutablePointer<WorkerTable>
    let mailbox: WorkerMailbox<UserspaceWorker>
    var isEnding = false
    /// Whether it forwards its queue before it ends.
    var drainsAtEnd = false
    let memory: BatchMemory
    /// The listener's own address and port, for the four-tuple; with a wildcard it is read from each datagram.
    let bound: BoundAddress

    /// The next slot of `counter`.
    var nextSlot: UInt32
    /// State of the generator of `randomNumber`, never 0.
    var random: UInt64
    var window: BatchWindow
    let trials: TrialFlags
    /// The receiver of the first datagram of this batch, whatever its slot; or -1.
    var trial: Int32 = -1
    /// Datagrams in one super-packet. Falls to 64 on kernels before 6.9, which take no more.
    var segmentsMax: Int32 = 128
    /// The most payload of one super-packet, bytes. Its IP datagram, headers included, must stay below 64 KiB (kernel:
    /// IP_MAX_MTU, 65520).
    let superPacketBytes: Int32 = 65_000
    /// The number of batches in which a receiver gets single datagrams after its path refused a super-packet.
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
        payloadKey = plan.listener.payloadKey?.datapath ?? lb_payload_key()
        seed = settings.seed
        maxPacketSize = Int32(settings.maxPacketSize)
        self.counters = counters
        self.batches = batches
        unsafe self.table = unsafe table
        self.mailbox = mailbox
        window = BatchWindow(start: settings.batchSize)
        memory = BatchMemory(capacity: window.capacity)
        bound = BoundAddress(plan.listener.bind)
        // Workers start at different slots, so that they do not all start with the same receiver.
        nextSlot = UInt32(plan.index) &* 0x9e37_79b1
        random = .random(in: 1...UInt64.max)
        trials = plan.trials.flags
    }

    /// Runs until the plane ends it.
    mutating func run() {
        while !isEnding {
            if mailbox.isEmpty {
                receiveBatch(flags: CNET_WAIT_FOR_ONE)
            } else {
                mailbox.run(on: &self)
            }
        }
        if drainsAtEnd { drain() }
    }

    /// Forwards the datagrams in the socket, with a time limit for later ones.
    mutating func empty() {
        let end = ContinuousClock.now + Self.emptiesAtMost
        while receiveBatch(flags: CNET_DONT_WAIT) > 0, ContinuousClock.now < end {}
    }

    /// Forwards the rest of the socket's queue before the worker ends.
    mutating func drain() {
        // The plane has steered new datagrams elsewhere. One that is still on its way into this socket's queue arrives
        // within the pause. If they could not be steered elsewhere, they do not end.
        let end = ContinuousClock.now + Self.drainsAtMost
        for _ in 0..<2 {
            while receiveBatch(flags: CNET_DONT_WAIT) > 0, ContinuousClock.now < end {}
            cnet_pause(1000)
        }
    }

    /// The time limit for emptying a socket: enough for about a million datagrams.
    static let drainsAtMost = Duration.seconds(2)

    /// The same for a socket whose datagrams are not steered elsewhere: another process will read them.
    static let emptiesAtMost = Duration.milliseconds(100)

    /// Handles one batch, and returns its number of messages, or -errno.
    @discardableResult
    @_noLocks @_noAllocation
    mutating func receiveBatch(flags: Int) -> Int32 {
        // MSG_TRUNC reports the true length of a truncated datagram.
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

    /// Sends the receivers' chains.
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

    /// Errors of the receive call do not belong to a datagram: EINTR and EAGAIN are normal, any other (such as ENOMEM)
    /// is temporary and must not cause a busy loop.
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

// Sending with the client's address and port. A raw socket for UDP takes the UDP header from the worker and the
// source address from the packet information of each message (IP_TRANSPARENT permits any address). The kernel
// builds the IP header, so it also fragments packets above the MTU.

extension UserspaceWorker {
    /// Sends a receiver's chain, in order, datagram by datagram.
    @_noLocks @_noAllocation
    mutating func sendPreserving(_ target: UnsafeMutablePointer<Target>) {
        unsafe relax(target)
        var sent = Sent()
        var messages = 0
        var index = unsafe target.pointee.head
        while index >= 0 {
            var rest = unsafe memory.runs[Int(index)]
            index = rest.next
            // Only the family is needed, so the packet information does not matter.
            let flow = flow(of: Int(rest.message), cnet_received())
            let isV6 = flow.source.high != 0 || flow.source.low >> 32 != 0xffff
            guard unsafe isV6 == target.pointee.isIPv6 else {
                unsafe charge(target, LB_DROP_FAMILY_MISMATCH, UInt64(rest.count))
                continue
            }
            while rest.count > 0 {
                if messages == memory.outgoingMax {
                    unsafe deliver(0, messages, target, &sent)
                    messages = 0
                }
                let bytes = min(rest.segment, rest.length)
                unsafe composePreserving(messages, rest.base, bytes, flow, target)
                messages &+= 1
                unsafe rest.base += Int(bytes)
                rest.length &-= bytes
                rest.count &-= 1
            }
        }
        unsafe deliver(0, messages, target, &sent)
        unsafe credit(target, sent)
    }

    @_noLocks @_noAllocation
    private func composePreserving(
        _ index: Int, _ base: UnsafeMutableRawPointer, _ bytes: Int32, _ flow: lb_flow,
        _ target: UnsafeMutablePointer<Target>
    ) {
        let header = unsafe memory.headers + index &* 8
        let length = UInt16(truncatingIfNeeded: Int(bytes) &+ 8)
        let port = unsafe target.pointee.port
        unsafe header.storeBytes(of: flow.source_port.bigEndian, as: UInt16.self)
        unsafe header.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
        unsafe header.storeBytes(of: length.bigEndian, toByteOffset: 4, as: UInt16.self)
        let checksum = unsafe checksum(flow, target, length: length, base, bytes)
        unsafe header.storeBytes(of: checksum.bigEndian, toByteOffset: 6, as: UInt16.self)

        let vector = unsafe memory.vectors + 2 &* index
        unsafe vector[0] = iovec(iov_base: header, iov_len: 8)
        unsafe vector[1] = iovec(iov_base: base, iov_len: Int(bytes))
        let control = unsafe memory.outgoingControls + index &* CNET_SEND_CONTROL
        var message = unsafe msghdr()
        unsafe message.msg_iov = vector
        unsafe message.msg_iovlen = 2
        unsafe message.msg_control = control
        unsafe message.msg_controllen = writeSource(flow.source, target.pointee.isIPv6, control)
        unsafe memory.outgoing[index].header = message
        unsafe memory.outgoingFacts[index] = Outgoing(datagrams: 1, bytes: bytes, segment: bytes)
    }

    @_noLocks @_noAllocation
    private func writeSource(
        _ source: lb_addr, _ isIPv6: Bool, _ control: UnsafeMutableRawPointer
    ) -> Int {
        unsafe isIPv6
            ? cnet_write_source_v6(control, source.high, source.low)
            : cnet_write_source_v4(control, UInt32(truncatingIfNeeded: source.low))
    }

    /// The UDP checksum over pseudo-header, header and payload (RFC 768; RFC 8200, section 8.1). The sum of the IPv4
    /// pseudo-header equals that of the mapped IPv6 one without the two ffff groups.
    @_noLocks @_noAllocation
    private func checksum(
        _ flow: lb_flow, _ target: UnsafeMutablePointer<Target>, length: UInt16,
        _ base: UnsafeMutableRawPointer, _ bytes: Int32
    ) -> UInt16 {
        let destination = unsafe target.pointee.address
        var sum = words(flow.source.low) &+ words(destination.low)
        if unsafe target.pointee.isIPv6 {
            sum &+= words(flow.source.high) &+ words(destination.high)
        } else {
            sum &-= 2 &* 0xffff
        }
        sum &+= UInt64(IPPROTO_UDP) &+ 2 &* UInt64(length)
        sum &+= UInt64(flow.source_port) &+ (unsafe UInt64(target.pointee.port))
        var offset = 0
        let end = Int(bytes)
        while offset &+ 8 <= end {
            let word = unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            sum &+= words(UInt64(bigEndian: word))
            offset &+= 8
        }
        while offset < end {
            let byte = unsafe UInt64(base.load(fromByteOffset: offset, as: UInt8.self))
            sum &+= offset % 2 == 0 ? byte << 8 : byte
            offset &+= 1
        }
        while sum >> 16 != 0 { sum = (sum & 0xffff) &+ (sum >> 16) }
        let folded = ~UInt16(truncatingIfNeeded: sum)
        // A sum of zero is sent as all ones: zero means "no checksum" (RFC 768).
        return folded == 0 ? 0xffff : folded
    }

    /// The sum of the four 16-bit words of a 64-bit one.
    @_noLocks @_noAllocation @inline(__always)
    private func words(_ value: UInt64) -> UInt64 {
        (value >> 48) &+ (value >> 32 & 0xffff) &+ (value >> 16 & 0xffff) &+ (value & 0xffff)
    }
}
