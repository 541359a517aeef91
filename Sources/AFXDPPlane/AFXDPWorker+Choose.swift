// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore
internal import LinuxNet
internal import XDPSockets

extension AFXDPWorker {
    /// Counts a packet, and leads it to its receiver or counts why not. Its frame is in a transmit ring, in
    /// the fallback's batch or in the store afterwards.
    @_noLocks @_noAllocation @inline(__always)
    mutating func admit(_ packet: Packet) {
        let frame = unsafe (base + Int(truncatingIfNeeded: packet.address))
            .assumingMemoryBound(to: UInt8.self)
        var parsed = lb_packet()
        // SAFETY: the kernel wrote that many bytes into a frame that is the worker's now.
        let kind = unsafe lb_parse_datagram(frame, frame + Int(packet.bytes), packet.bytes, &parsed)
        guard kind == LB_PARSE_DATAGRAM, let service = unsafe find(parsed.flow) else {
            // The program steers nothing else, but it may be another one (`--xdp-program`).
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
        let slot = unsafe slot(of: &parsed, service)
        let target = unsafe service.pointee.targets + Int(service.pointee.slots[Int(slot)])
        unsafe lead(packet, frame, &parsed, service, target)
    }

    @_noLocks @_noAllocation @inline(__always)
    private func find(_ flow: lb_flow) -> UnsafeMutablePointer<Service>? {
        var place = unsafe table.pointee.find(flow.destination, flow.destination_port)
        if place == Destination.nobody, unsafe table.pointee.servesAny {
            place = unsafe table.pointee.find(lb_addr(), flow.destination_port)
        }
        return unsafe place == Destination.nobody ? nil : table.pointee.services + Int(place)
    }

    @_noLocks @_noAllocation @inline(__always)
    private mutating func slot(
        of parsed: inout lb_packet, _ service: UnsafeMutablePointer<Service>
    ) -> UInt32 {
        let slots = unsafe service.pointee.slotCount
        switch unsafe service.pointee.key {
        case .counter:
            let turn = unsafe service.pointee.turn.pointee
            // A new table may be shorter than the one before.
            let slot = turn < slots ? turn : turn % slots
            unsafe service.pointee.turn.pointee = slot &+ 1
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
        }
    }

    /// Rewrites the packet for its receiver and has it sent, or counts why not.
    @_noLocks @_noAllocation @inline(__always)
    private mutating func lead(
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
        let start = unsafe lb_lead_frame(
            frame, &parsed, &target.pointee.receiver, &target.pointee.link)
        if egress == Target.kernel {
            unsafe addFallback(packet, frame + Int(parsed.ip), bytes, parsed, service, target)
            return
        }
        let led = Packet(
            address: packet.address &+ UInt64(start), bytes: packet.bytes &- UInt32(start))
        unsafe append(led, payload: parsed.payload, egress, service, target)
    }

    /// Bytes of the IP packet; the frame may have padding behind it.
    @_noLocks @_noAllocation @inline(__always)
    private static func packetBytes(
        _ frame: UnsafeMutablePointer<UInt8>, _ parsed: lb_packet
    ) -> UInt32 {
        let ip = unsafe frame + Int(parsed.ip)
        return unsafe parsed.is_v6 != 0 ? 40 &+ UInt32(lb_be16(ip + 4)) : UInt32(lb_be16(ip + 2))
    }

    /// Gives a packet up for a reason that lies with one receiver.
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
