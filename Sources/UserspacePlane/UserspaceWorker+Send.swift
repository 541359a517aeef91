// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import Glibc
internal import LinuxNet

/// One receiver's share of one batch; written to its row after its chain.
struct Sent {
    var packets: UInt64 = 0
    var bytes: UInt64 = 0

    @_noLocks @_noAllocation
    init() {}
}

/// The messages composed so far for one receiver.
struct Composition {
    var messages = 0
    var vectors = 0
    /// Whether the last message can take further datagrams.
    var isOpen = false
}

extension UserspaceWorker {
    /// Sends a receiver's chain, in order.
    @_noLocks @_noAllocation
    mutating func send(_ target: UnsafeMutablePointer<Target>) {
        unsafe relax(target)
        var sent = Sent()
        var work = Composition()
        var index = unsafe target.pointee.head
        while index >= 0 {
            let run = unsafe memory.runs[Int(index)]
            index = run.next
            unsafe compose(run, target, &work, &sent)
        }
        unsafe flush(target, &work, &sent)
        unsafe credit(target, sent)
    }

    @_noLocks @_noAllocation
    func credit(_ target: UnsafeMutablePointer<Target>, _ sent: Sent) {
        let row = unsafe target.pointee.counters
        row.add(sent.packets, at: LB_COUNT_PACKETS_FORWARDED)
        row.add(sent.bytes, at: LB_COUNT_BYTES_FORWARDED)
    }

    @_noLocks @_noAllocation
    func relax(_ target: UnsafeMutablePointer<Target>) {
        unsafe target.pointee.reconnected = false
        guard unsafe target.pointee.limitLasts > 0 else { return }
        unsafe target.pointee.limitLasts &-= 1
        if unsafe target.pointee.limitLasts == 0 {
            unsafe target.pointee.superPacketLimit = .max
        }
    }

    /// Appends a run to the messages: to the open super-packet while sizes agree, else to a new one.
    @_noLocks @_noAllocation
    private mutating func compose(
        _ run: Run, _ target: UnsafeMutablePointer<Target>, _ work: inout Composition,
        _ sent: inout Sent
    ) {
        var rest = run
        while rest.count > 0 {
            if work.vectors == memory.outgoingVectors {
                unsafe flush(target, &work, &sent)
            }
            var taken = room(for: rest, work)
            if taken == 0 {
                if work.messages == memory.outgoingMax {
                    unsafe flush(target, &work, &sent)
                }
                taken = unsafe open(rest, target, &work)
            }
            let bytes = taken == rest.count ? rest.length : taken &* rest.segment
            unsafe extend(rest.base, bytes, datagrams: taken, &work)
            // No datagram can follow one that is shorter than the segment size.
            let segment = unsafe memory.outgoingFacts[work.messages &- 1].segment
            if bytes != taken &* segment { work.isOpen = false }
            unsafe rest.base += Int(bytes)
            rest.length &-= bytes
            rest.count &-= taken
        }
    }

    /// The number of datagrams of `run` that the open message can take.
    @_noLocks @_noAllocation @inline(__always)
    private func room(for run: Run, _ work: Composition) -> Int32 {
        guard work.isOpen else { return 0 }
        let facts = unsafe memory.outgoingFacts[work.messages &- 1]
        let isSameSize = run.segment == facts.segment
        let isShortEnd = run.count == 1 && run.length < facts.segment && run.length > 0
        guard isSameSize || isShortEnd else { return 0 }
        let byCount = segmentsMax &- facts.datagrams
        let byBytes = (superPacketBytes &- facts.bytes) / facts.segment
        return max(0, min(run.count, min(byCount, byBytes)))
    }

    /// Starts a message and returns the number of datagrams of `run` for it.
    @_noLocks @_noAllocation
    private func open(
        _ run: Run, _ target: UnsafeMutablePointer<Target>, _ work: inout Composition
    ) -> Int32 {
        let message = work.messages
        var header = unsafe msghdr()
        unsafe header.msg_iov = memory.vectors + work.vectors
        unsafe memory.outgoing[message].header = header
        unsafe memory.outgoingFacts[message] = Outgoing(
            datagrams: 0, bytes: 0, segment: run.segment)
        work.messages &+= 1
        let segment = run.segment
        work.isOpen =
            unsafe segment > 0 && segment < target.pointee.superPacketLimit
            && segment &* 2 <= superPacketBytes
        if !work.isOpen { return 1 }
        return min(run.count, min(segmentsMax, superPacketBytes / segment))
    }

    @_noLocks @_noAllocation @inline(__always)
    private func extend(
        _ base: UnsafeMutableRawPointer, _ bytes: Int32, datagrams: Int32,
        _ work: inout Composition
    ) {
        let message = unsafe memory.outgoing + (work.messages &- 1)
        let facts = unsafe memory.outgoingFacts + (work.messages &- 1)
        unsafe facts.pointee.datagrams &+= datagrams
        unsafe facts.pointee.bytes &+= bytes
        let vectors = unsafe message.pointee.header.msg_iovlen
        if vectors > 0 {
            let last = unsafe memory.vectors + (work.vectors &- 1)
            if unsafe last.pointee.iov_base + last.pointee.iov_len == base {
                unsafe last.pointee.iov_len &+= Int(bytes)
                return
            }
        }
        unsafe memory.vectors[work.vectors] = iovec(iov_base: base, iov_len: Int(bytes))
        unsafe message.pointee.header.msg_iovlen = vectors &+ 1
        work.vectors &+= 1
    }

    /// Sends the composed messages and starts again.
    @_noLocks @_noAllocation
    private mutating func flush(
        _ target: UnsafeMutablePointer<Target>, _ work: inout Composition, _ sent: inout Sent
    ) {
        for index in 0..<work.messages {
            let facts = unsafe memory.outgoingFacts[index]
            guard facts.datagrams > 1 else { continue }
            let control =
                unsafe memory.outgoingControls + index &* CNET_SEND_CONTROL
            unsafe memory.outgoing[index].header.msg_control = control
            unsafe memory.outgoing[index].header.msg_controllen = cnet_write_segment(
                control, UInt16(truncatingIfNeeded: facts.segment))
        }
        unsafe deliver(0, work.messages, target, &sent)
        work = Composition()
    }
}
