// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet

/// The listener's bind address in the form for the flow key.
struct BoundAddress {
    let address: lb_addr
    let port: UInt16
    /// The destination is then read from the packet information of each message.
    let isWildcard: Bool

    init(_ endpoint: Endpoint) {
        address = endpoint.address.datapath
        port = endpoint.port
        isWildcard = endpoint.address.isWildcard
    }
}

extension UserspaceWorker {
    /// Counts message `index` and puts its datagrams on their receivers' chains, or counts why not.
    @_noLocks @_noAllocation
    mutating func admit(_ index: Int, _ table: UnsafeMutablePointer<WorkerTable>) {
        let message = unsafe memory.incoming + index
        // A receive call that was only woken up to end this worker has no sender.
        guard unsafe message.pointee.header.msg_namelen > 0 else { return }
        let length = unsafe Int32(bitPattern: message.pointee.length)
        var facts = cnet_received()
        if unsafe message.pointee.header.msg_controllen > 0 {
            unsafe cnet_read_control(&message.pointee.header, &facts)
        }
        let segment = facts.segment > 0 && facts.segment < length ? facts.segment : length
        let count = segment > 0 ? (length &+ segment &- 1) / segment : 1
        tally.packetsReceived &+= UInt64(count)
        tally.bytesReceived &+= UInt64(length)

        if segment > maxPacketSize || length > Int32(memory.bufferBytes) {
            unsafe admitWithinSize(index, length: length, segment: segment, facts, table)
            return
        }
        var run = unsafe Run(
            base: memory.payload(index), length: length, segment: segment, count: count,
            message: index)
        if trial >= 0 {
            unsafe append(run.takeFirst(), to: trial, table)
            trial = -1
            if run.count == 0 { return }
        }
        guard unsafe table.pointee.slotCount > 0 else {
            drop(LB_DROP_NO_HEALTHY, UInt64(run.count))
            return
        }
        unsafe choose(run, facts, table)
    }

    /// Handles a message with oversize datagrams. Only the last datagram of a super-packet can be shorter than the
    /// rest, so only that one may be forwarded.
    @_noLocks @_noAllocation
    private mutating func admitWithinSize(
        _ index: Int, length: Int32, segment: Int32, _ facts: cnet_received,
        _ table: UnsafeMutablePointer<WorkerTable>
    ) {
        let last = length % segment
        guard length > segment, last > 0, last <= maxPacketSize,
            length <= Int32(memory.bufferBytes)
        else {
            drop(LB_DROP_OVERSIZE, UInt64((length &+ segment &- 1) / segment))
            return
        }
        drop(LB_DROP_OVERSIZE, UInt64(length / segment))
        guard unsafe table.pointee.slotCount > 0 else {
            drop(LB_DROP_NO_HEALTHY, 1)
            return
        }
        let base = unsafe memory.payload(index) + Int(length &- last)
        let run = unsafe Run(
            base: base, length: last, segment: last, count: 1, message: index)
        unsafe choose(run, facts, table)
    }

    @_noLocks @_noAllocation
    private mutating func choose(
        _ run: Run, _ facts: cnet_received, _ table: UnsafeMutablePointer<WorkerTable>
    ) {
        let slots = unsafe table.pointee.slotCount
        switch key {
        case .counter, .randomNumber:
            // Datagram by datagram, also within a super-packet.
            var rest = run
            while rest.count > 0 {
                let slot = nextSlot(of: slots)
                unsafe append(
                    rest.takeFirst(), to: Int32(table.pointee.slots[Int(slot)]), table)
            }
        case .sourceAddress:
            let flow = flow(of: Int(run.message), facts)
            let slot = lb_slot(lb_key_source_ip(seed, flow.source), slots)
            unsafe append(run, to: Int32(table.pointee.slots[Int(slot)]), table)
        case .fourTuple:
            var flow = flow(of: Int(run.message), facts)
            let slot = unsafe lb_slot(lb_key_four_tuple(seed, &flow), slots)
            unsafe append(run, to: Int32(table.pointee.slots[Int(slot)]), table)
        case .payload:
            // Datagram by datagram, as above.
            var (rest, flow, key) = (run, flow(of: Int(run.message), facts), payloadKey)
            while rest.count > 0 {
                let one = rest.takeFirst()
                var payload = unsafe lb_payload(
                    from: one.base, start: 0, bytes: UInt32(bitPattern: one.length))
                let slot = unsafe lb_slot(lb_key_payload(seed, &key, &payload, &flow), slots)
                unsafe append(one, to: Int32(table.pointee.slots[Int(slot)]), table)
            }
        }
    }

    @_noLocks @_noAllocation @inline(__always)
    private mutating func nextSlot(of slots: UInt32) -> UInt32 {
        if case .counter = key {
            // A new table may be shorter than the previous one.
            let slot = nextSlot < slots ? nextSlot : nextSlot % slots
            nextSlot = slot &+ 1
            return slot
        }
        // xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016).
        random ^= random >> 12
        random ^= random << 25
        random ^= random >> 27
        let number = UInt32(truncatingIfNeeded: (random &* 0x2545_f491_4f6c_dd1d) >> 32)
        return lb_slot(number, slots)
    }

    @_noLocks @_noAllocation @inline(__always)
    private mutating func append(
        _ run: Run, to owner: Int32, _ table: UnsafeMutablePointer<WorkerTable>
    ) {
        // A large batch of super-packets can exceed the memory for runs; and before Linux 6.7 a virtual network
        // card (virtio, tun) passes on any number of segments that its guest claims.
        if Int(runCount) == memory.runsMax { unsafe sendAll(table) }
        let target = unsafe table.pointee.targets + Int(owner)
        let index = runCount
        runCount &+= 1
        unsafe memory.runs[Int(index)] = run
        if unsafe target.pointee.tail < 0 {
            unsafe target.pointee.head = index
            unsafe memory.touched[touchedCount] = owner
            touchedCount &+= 1
        } else {
            unsafe memory.runs[Int(target.pointee.tail)].next = index
        }
        unsafe target.pointee.tail = index
    }

    /// Both ends of the flow of message `index`.
    @_noLocks @_noAllocation
    func flow(of index: Int, _ facts: cnet_received) -> lb_flow {
        var flow = lb_flow()
        let source = unsafe memory.source(index)
        // SAFETY: the kernel wrote a sockaddr of the listener's family; sockaddr_in6 has room for both,
        // and the port is at the same offset in both.
        let family = unsafe source.load(as: sa_family_t.self)
        flow.source_port = unsafe UInt16(
            bigEndian: source.load(fromByteOffset: 2, as: UInt16.self))
        if Int32(family) == AF_INET {
            let word = unsafe source.load(fromByteOffset: 4, as: UInt32.self)
            flow.source = lb_addr_v4(UInt32(bigEndian: word))
        } else {
            flow.source = unsafe readAddress(source + 8)
        }
        flow.destination_port = bound.port
        flow.destination = bound.address
        if bound.isWildcard, facts.has_destination != 0 {
            flow.destination = lb_addr(high: facts.destination_high, low: facts.destination_low)
        }
        return flow
    }

    @_noLocks @_noAllocation @inline(__always)
    private func readAddress(_ bytes: UnsafeMutableRawPointer) -> lb_addr {
        unsafe lb_addr(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    @_noLocks @_noAllocation @inline(__always)
    func drop(_ reason: lb_drop_reason, _ count: UInt64) {
        counters.add(count, droppedFor: reason)
    }
}
