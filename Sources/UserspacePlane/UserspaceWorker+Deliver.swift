// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import Glibc
internal import LinuxNet

extension UserspaceWorker {
    /// Sends the composed messages `first..<last` on a receiver's socket. An error concerns one message: the rest is
    /// still sent.
    @_noLocks @_noAllocation
    mutating func deliver(
        _ first: Int, _ last: Int, _ target: UnsafeMutablePointer<Target>, _ sent: inout Sent
    ) {
        var next = first
        // Of the current message.
        var tries = 0
        var isReported = false
        while next < last {
            let result = unsafe cnet_send_batch(
                target.pointee.descriptor, memory.outgoing + next, UInt32(last &- next),
                Int32(CNET_DONT_WAIT))
            tally.sendCalls &+= 1
            if result > 0 {
                for index in next..<next &+ Int(result) {
                    let facts = unsafe memory.outgoingFacts[index]
                    account(facts.datagrams, facts.bytes, &sent)
                }
                next &+= Int(result)
                if isReported { unsafe target.pointee.counters.add(1, at: LB_COUNT_REFUSALS) }
                (tries, isReported) = (0, false)
            } else if result == -EINTR {
                continue
            } else if unsafe isWorthAnotherTry(-result, tries, target) {
                isReported = tries == 0 && mayBeReport(-result)
                tries &+= 1
            } else {
                // The socket only reports that it has no peer; the error of connecting says why.
                let cause = unsafe target.pointee.reconnectError
                let code = result == -EDESTADDRREQ && cause != 0 ? cause : -result
                unsafe giveUp(next, code, target, &sent)
                next &+= 1
                (tries, isReported) = (0, false)
            }
        }
    }

    /// Whether the current message, which the kernel did not send, may succeed at the next try.
    ///
    /// A connected socket reports the ICMP error about an *earlier* datagram at the next send, and then clears it: the
    /// current message was not even tried. An error of the route itself may be cured by a new choice of route and
    /// source address, since the previous source address may be gone. ICMP and the route share some errors: an error
    /// at the second try is the route's.
    @_noLocks @_noAllocation
    private func isWorthAnotherTry(
        _ code: Int32, _ tries: Int, _ target: UnsafeMutablePointer<Target>
    ) -> Bool {
        switch code {
        case EAGAIN, ENOBUFS, ENOMEM:
            return false
        case ECONNREFUSED:
            if tries == 0 { unsafe target.pointee.counters.add(1, at: LB_COUNT_REFUSALS) }
            return tries == 0
        case ENETUNREACH, EHOSTUNREACH:
            return unsafe tries == 0 || tries == 1 && reconnect(target)
        case EDESTADDRREQ, EINVAL, ENETDOWN, EADDRNOTAVAIL, ENODEV:
            if tries == 0 { _ = unsafe reconnect(target) }
            return tries == 0
        default:
            return tries == 0
        }
    }

    /// Makes the kernel choose route and source address again, at most once a batch.
    ///
    /// - Returns: whether it was done now.
    @_noLocks @_noAllocation
    private func reconnect(_ target: UnsafeMutablePointer<Target>) -> Bool {
        if unsafe target.pointee.reconnected { return false }
        unsafe target.pointee.reconnected = true
        unsafe target.pointee.reconnectError = -cnet_reconnect(
            target.pointee.descriptor, &target.pointee.name)
        return true
    }

    /// Whether an error may be a refusal other than ECONNREFUSED, which is counted at once.
    @_noLocks @_noAllocation
    private func mayBeReport(_ code: Int32) -> Bool {
        code != ECONNREFUSED && isRefusal(code)
    }

    /// After the last retry: sends the datagrams of a super-packet one by one if the kernel refuses it, otherwise
    /// drops.
    @_noLocks @_noAllocation
    private mutating func giveUp(
        _ index: Int, _ code: Int32, _ target: UnsafeMutablePointer<Target>, _ sent: inout Sent
    ) {
        let datagrams = unsafe memory.outgoingFacts[index].datagrams
        if datagrams > 1, code == EINVAL || code == EIO || code == EMSGSIZE {
            unsafe sendSingly(index, target, &sent)
        } else {
            unsafe charge(target, dropReason(ofSend: code), UInt64(datagrams))
        }
    }

    @_noLocks @_noAllocation @inline(__always)
    mutating func account(_ datagrams: Int32, _ bytes: Int32, _ sent: inout Sent) {
        sent.packets &+= UInt64(datagrams)
        sent.bytes &+= UInt64(bytes)
        tally.packetsForwarded &+= UInt64(datagrams)
        tally.bytesForwarded &+= UInt64(bytes)
    }

    /// A drop because of one receiver: counted with it and with the listener.
    @_noLocks @_noAllocation
    func charge(
        _ target: UnsafeMutablePointer<Target>, _ reason: lb_drop_reason, _ count: UInt64
    ) {
        drop(reason, count)
        unsafe target.pointee.counters.add(count, droppedFor: reason)
    }

    /// Handles a refused super-packet: too many datagrams for an old kernel, or each longer than the path's MTU. Its
    /// datagrams go one by one, and the next batches avoid the attempt.
    @_noLocks @_noAllocation
    private mutating func sendSingly(
        _ index: Int, _ target: UnsafeMutablePointer<Target>, _ sent: inout Sent
    ) {
        let facts = unsafe memory.outgoingFacts[index]
        if facts.datagrams > 64 {
            segmentsMax = 64
        } else {
            unsafe target.pointee.superPacketLimit = facts.segment
            unsafe target.pointee.limitLasts = superPacketHoldOff
        }
        let header = unsafe memory.outgoing[index].header
        for vector in unsafe 0..<Int(header.msg_iovlen) {
            var base = unsafe header.msg_iov[vector].iov_base.unsafelyUnwrapped
            var rest = unsafe Int32(truncatingIfNeeded: header.msg_iov[vector].iov_len)
            while rest > 0 {
                let bytes = min(rest, facts.segment)
                unsafe sendOne(base, bytes, target, &sent)
                unsafe base += Int(bytes)
                rest &-= bytes
            }
        }
    }

    @_noLocks @_noAllocation
    private mutating func sendOne(
        _ base: UnsafeMutableRawPointer, _ bytes: Int32, _ target: UnsafeMutablePointer<Target>,
        _ sent: inout Sent
    ) {
        let spare = memory.outgoingMax
        let vector = unsafe memory.vectors + memory.outgoingVectors
        unsafe vector.pointee = iovec(iov_base: base, iov_len: Int(bytes))
        var header = unsafe msghdr()
        unsafe header.msg_iov = vector
        unsafe header.msg_iovlen = 1
        unsafe memory.outgoing[spare].header = header
        unsafe memory.outgoingFacts[spare] = Outgoing(datagrams: 1, bytes: bytes, segment: bytes)
        unsafe deliver(spare, spare &+ 1, target, &sent)
    }
}
