// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import LinuxNet
internal import XDPSockets

// The life of a datagram in mode `af_xdp`, from where bpf/xdp_steer.bpf.c has put it into a frame:
//
//   receive   up to 64 packets from the ring; their frames are the worker's now
//   parse     headers, in place (lb/packet.h)
//   listener  by destination address and port
//   key       counter, random number, hash of the source or of the four-tuple
//   slot      slots[key mod n] names the receiver
//   rewrite   in place: Ethernet header, destination, TTL, checksums (lb/frame.h)
//   send      the frame goes into the transmit ring of the receiver's interface, and comes back by the
//             completion ring; a raw socket sends packets without such a ring
//   count     forwarded, or one drop reason, for the receiver and for the listener
//   refill    frames that came back go to the kernel again, to receive into
//
// Every path ends in exactly one count, and every frame in exactly one place. Nothing here allocates or
// locks; the compiler proves it.

/// The loop of one thread over one receive queue.
@safe struct AFXDPWorker: ~Copyable, WorkerLoop {
    /// The maximum number of packets in a batch.
    static var batch: UInt32 {
        @_noLocks @_noAllocation @inline(__always)
        get { 64 }
    }

    var store: FrameStore
    // SAFETY: the plane keeps sockets, table and memory until this worker has let go of them.
    let ingress: UnsafeMutablePointer<XDPSocket>
    var table: UnsafeMutablePointer<WorkerTable>
    /// The first byte of the frames.
    let base: UnsafeMutableRawPointer
    /// The maximum number of frames lent for receiving: the rest is for sending.
    let fillTarget: UInt32
    let polling: Polling
    let mailbox: WorkerMailbox<AFXDPWorker>
    let counts: QueueRow
    let batches: BatchCount
    var fallback: FallbackBatch
    /// State of the generator of `randomNumber`, never 0.
    var random: UInt64
    var isEnding = false

    /// How the worker learns of packets.
    enum Polling { case sleeping, busy }

    /// Runs until the plane ends it.
    mutating func run() {
        refill(.max)
        while !isEnding {
            if !mailbox.isEmpty { mailbox.run(on: &self) }
            if receiveBatch() == 0 { rest() }
        }
    }

    /// Handles one batch, and returns its number of packets.
    @discardableResult
    @_noLocks @_noAllocation
    mutating func receiveBatch() -> UInt32 {
        let range = unsafe ingress.pointee.receive.take(upTo: Self.batch, of: &store)
        guard range.count > 0 else {
            counts.add(1, at: .receiveRingEmpty)
            return 0
        }
        batches.step()
        var offset: UInt32 = 0
        while offset < range.count {
            let packet = unsafe ingress.pointee.receive.packet(at: range[offset])
            if offset &+ 1 < range.count {
                let next = unsafe ingress.pointee.receive.packet(at: range[offset &+ 1])
                unsafe cnet_prefetch(base + Int(truncatingIfNeeded: next.address))
            }
            admit(packet)
            offset &+= 1
        }
        unsafe ingress.pointee.receive.release(range)
        sendFallback()
        transmit()
        refill(range.count)
        batches.step()
        return range.count
    }

    /// Lends frames to the kernel for receiving, as many as are missing.
    @_noLocks @_noAllocation
    mutating func refill(_ wanted: UInt32) {
        let lent = unsafe ingress.pointee.fill.waiting
        let room = Int(fillTarget) &- lent
        guard room > 0 else { return }
        let given = unsafe ingress.pointee.fill.refill(
            from: &store, most: UInt32(truncatingIfNeeded: room))
        if Int(given) < min(room, Int(wanted)) {
            counts.add(1, at: store.free == 0 ? .framesExhausted : .fillRingFull)
        }
    }

    /// Waits for packets or commands, or until the kernel accepts packets that it refused before.
    private mutating func rest() {
        let isOwing = transmit()
        refill(.max)
        if polling == .busy {
            _ = unsafe ingress.pointee.wakeReceiver()
            return
        }
        let milliseconds: Int32 = isOwing ? 1 : 1000
        let end = unsafe ingress.pointee.awaitPackets(milliseconds: milliseconds)
        // Until the plane has removed the interface, or it is up again.
        if end == .failed { cnet_pause(1000) }
    }
}

extension AFXDPWorker {
    /// Counts a packet, and forwards it to its receiver or counts the reason. Afterwards its frame is in a transmit
    /// ring, in the fallback's batch or in the store.
    @_noLocks @_noAllocation @inline(__always)
    mutating func admit(_ packet: Packet) {
        let frame = unsafe (base + Int(truncatingIfNeeded: packet.address))
            .assumingMemoryBound(to: UInt8.self)
        var parsed = lb_packet()
        // SAFETY: the kernel wrote that many bytes into a frame that is the worker's now.
        let kind = unsafe lb_parse_datagram(frame, frame + Int(packet.bytes), packet.bytes, &parsed)
        guard kind == LB_PARSE_DATAGRAM, let service = unsafe find(parsed.flow) else {
            // Our program steers nothing else, but it may be another one (`--xdp-program`).
            counts.add(1, at: .parseErrors)
            store.put(packet.address)
            return
        }
        unsafe service.pointee.counters.add(1, at: LB_COUNT_PACKETS_RECEIVED)
        unsafe service.pointee.counters.add(UInt64(parsed.payload), at: LB_COUNT_BYTES_RECEIVED)
        if unsafe parsed.payload > service.pointee.maxPacketSize {
            unsafe service.pointee.counters.add(1, droppedFor: LB_DROP_OVERSIZE)
            store.put(packet.address)
            return
        }
        guard unsafe service.pointee.slotCount > 0 else {
            unsafe service.pointee.counters.add(1, droppedFor: LB_DROP_NO_HEALTHY)
            store.put(packet.address)
            return
        }
        let slot = unsafe slot(of: &parsed, frame, service)
        let target = unsafe service.pointee.targets + Int(service.pointee.slots[Int(slot)])
        unsafe steer(packet, frame, &parsed, service, target)
    }

    @_noLocks @_noAllocation @inline(__always)
    private func find(_ flow: lb_flow) -> UnsafeMutablePointer<Service>? {
        var place = unsafe table.pointee.find(flow.destination, flow.destination_port)
        if place == Destination.none, unsafe table.pointee.servesAny {
            place = unsafe table.pointee.find(lb_addr(), flow.destination_port)
        }
        return unsafe place == Destination.none ? nil : table.pointee.services + Int(place)
    }

    @_noLocks @_noAllocation @inline(__always)
    private mutating func slot(
        of parsed: inout lb_packet, _ frame: UnsafeMutablePointer<UInt8>,
        _ service: UnsafeMutablePointer<Service>
    ) -> UInt32 {
        let slots = unsafe service.pointee.slotCount
        switch unsafe service.pointee.key {
        case .counter:
            let nextSlot = unsafe service.pointee.nextSlot.pointee
            // A new table may be shorter than the previous one.
            let slot = nextSlot < slots ? nextSlot : nextSlot % slots
            unsafe service.pointee.nextSlot.pointee = slot &+ 1
            return slot
        case .randomNumber:
            // xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016).
            random ^= random >> 12
            random ^= random << 25
            random ^= random >> 27
            let number = UInt32(truncatingIfNeeded: (random &* 0x2545_f491_4f6c_dd1d) >> 32)
            return lb_slot(number, slots)
        case .sourceAddress:
            return unsafe lb_slot(
                lb_key_source_ip(service.pointee.seed, parsed.flow.source), slots)
        case .fourTuple:
            return unsafe lb_slot(
                lb_key_four_tuple(service.pointee.seed, &parsed.flow), slots)
        case .payload:
            var payload = unsafe lb_payload(
                from: frame, start: UInt32(parsed.udp) &+ 8, bytes: lb_payload_in(&parsed))
            return unsafe lb_slot(
                lb_key_payload(
                    service.pointee.seed, &service.pointee.payloadKey, &payload, &parsed.flow),
                slots)
        }
    }

    /// Rewrites the packet for its receiver and sends it, or counts the reason.
    @_noLocks @_noAllocation @inline(__always)
    private mutating func steer(
        _ packet: Packet, _ frame: UnsafeMutablePointer<UInt8>, _ parsed: inout lb_packet,
        _ service: UnsafeMutablePointer<Service>, _ target: UnsafeMutablePointer<Target>
    ) {
        guard unsafe parsed.is_v6 == target.pointee.receiver.is_v6 else {
            unsafe drop(packet, LB_DROP_FAMILY_MISMATCH, service, target)
            return
        }
        guard unsafe target.pointee.receiver.flags & UInt8(LB_RECEIVER_UNPLUGGED) == 0 else {
            unsafe drop(packet, LB_DROP_UNREACHABLE, service, target)
            return
        }
        let egress = unsafe target.pointee.egress
        let bytes = unsafe Self.packetBytes(frame, parsed)
        guard unsafe egress == Target.kernel || bytes <= target.pointee.mtu else {
            unsafe drop(packet, LB_DROP_MESSAGE_TOO_LONG, service, target)
            return
        }
        if unsafe target.pointee.isLocal {
            parsed.ttl &+= 1
        } else if parsed.ttl <= 1 {
            unsafe drop(packet, LB_DROP_TTL_EXPIRED, service, target)
            return
        }
        unsafe lb_complete_udp(frame, &parsed)
        let start = unsafe lb_readdress_frame(
            frame, &parsed, &target.pointee.receiver, &target.pointee.link)
        if egress == Target.kernel {
            unsafe addFallback(packet, frame + Int(parsed.ip), bytes, parsed, service, target)
            return
        }
        let led = Packet(
            address: packet.address &+ UInt64(start), bytes: packet.bytes &- UInt32(start))
        unsafe append(led, payload: parsed.payload, egress, service, target)
    }

    /// The bytes of the IP packet; the frame may have padding after it.
    @_noLocks @_noAllocation @inline(__always)
    private static func packetBytes(
        _ frame: UnsafeMutablePointer<UInt8>, _ parsed: lb_packet
    ) -> UInt32 {
        let ip = unsafe frame + Int(parsed.ip)
        return unsafe parsed.is_v6 != 0 ? 40 &+ UInt32(lb_be16(ip + 4)) : UInt32(lb_be16(ip + 2))
    }

    /// Drops a packet because of one receiver.
    @_noLocks @_noAllocation
    mutating func drop(
        _ packet: Packet, _ reason: lb_drop_reason, _ service: UnsafeMutablePointer<Service>,
        _ target: UnsafeMutablePointer<Target>
    ) {
        unsafe service.pointee.counters.add(1, droppedFor: reason)
        unsafe target.pointee.counters.add(1, droppedFor: reason)
        store.put(packet.address)
    }

    /// Counts a datagram that was handed to the kernel.
    @_noLocks @_noAllocation @inline(__always)
    func credit(
        _ payload: UInt32, _ service: UnsafeMutablePointer<Service>,
        _ target: UnsafeMutablePointer<Target>
    ) {
        let bytes = UInt64(payload)
        unsafe service.pointee.counters.add(1, at: LB_COUNT_PACKETS_FORWARDED)
        unsafe service.pointee.counters.add(bytes, at: LB_COUNT_BYTES_FORWARDED)
        unsafe target.pointee.counters.add(1, at: LB_COUNT_PACKETS_FORWARDED)
        unsafe target.pointee.counters.add(bytes, at: LB_COUNT_BYTES_FORWARDED)
    }
}

// Commands of the plane, which the worker runs between two batches.

extension AFXDPWorker {
    /// How often a ring that the kernel does not empty is retried, a millisecond apart: an interface that is down
    /// accepts nothing.
    private static let patience = 50

    /// Processes the received packets, and waits until they have left.
    mutating func settle() {
        var left = unsafe ingress.pointee.receive.waiting
        while left > 0 {
            let taken = Int(receiveBatch())
            guard taken > 0 else { break }
            left -= taken
        }
        var tries = 0
        while transmit(), tries < Self.patience {
            cnet_pause(1000)
            tries += 1
        }
    }

    /// Waits until a socket has sent its packets, and takes the frames back.
    mutating func empty(_ socket: SharedSocket) {
        var tries = 0
        while unsafe flush(socket.pointer)
            || store.count(at: .transmitting(socket.number)) > 0, tries < Self.patience
        {
            // Packets that come in meanwhile must not wait.
            if receiveBatch() == 0 { cnet_pause(200) }
            tries += 1
        }
    }

    /// The places of the frames.
    func census() -> FrameCensus {
        var census = store.census()
        unsafe ingress.pointee.count(in: &census, of: store)
        for place in unsafe 0..<table.pointee.egressCount {
            let socket = unsafe table.pointee.egresses[place]
            if unsafe socket != ingress { unsafe socket.pointee.count(in: &census, of: store) }
        }
        return census
    }
}
