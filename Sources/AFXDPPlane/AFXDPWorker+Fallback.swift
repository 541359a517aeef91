// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import Glibc
internal import LinuxNet
internal import XDPSockets

// What no transmit ring leads to goes by the kernel: receivers on this host, behind several next hops or
// a tunnel, and those whose link-layer address is not known yet: sending to them is what makes the kernel
// ask for it.

extension AFXDPWorker {
    /// Puts a packet that has been rewritten into the batch for the kernel.
    ///
    /// - Parameter ip: where its IP header begins.
    @_noLocks @_noAllocation
    mutating func addFallback(
        _ packet: Packet, _ ip: UnsafeMutablePointer<UInt8>, _ bytes: UInt32, _ parsed: lb_packet,
        _ service: UnsafeMutablePointer<Service>, _ target: UnsafeMutablePointer<Target>
    ) {
        let entry = unsafe FallbackBatch.Entry(
            service: service, target: target, frame: packet.address, payload: parsed.payload)
        let vector = unsafe iovec(iov_base: ip, iov_len: Int(bytes))
        if parsed.is_v6 != 0 {
            unsafe Self.add(entry, vector, to: &fallback.v6)
        } else {
            unsafe Self.add(entry, vector, to: &fallback.v4)
        }
    }

    /// There is room for a whole batch.
    @_noLocks @_noAllocation
    private static func add(
        _ entry: FallbackBatch.Entry, _ vector: iovec, to family: inout FallbackBatch.Family
    ) {
        let place = family.count
        unsafe family.entries[place] = entry
        unsafe family.vectors[place] = vector
        var header = unsafe msghdr()
        // SAFETY: the kernel reads the name, which is the table's.
        unsafe header.msg_name = UnsafeMutableRawPointer(entry.target.pointee.name)
        unsafe header.msg_namelen = entry.target.pointee.name.pointee.bytes
        unsafe header.msg_iov = family.vectors + place
        unsafe header.msg_iovlen = 1
        unsafe family.messages[place].header = header
        family.count &+= 1
    }

    /// Sends the batch. An error concerns one packet: the rest still goes.
    @_noLocks @_noAllocation
    mutating func sendFallback() {
        if fallback.v4.count > 0 {
            unsafe send(
                fallback.v4.descriptor, fallback.v4.messages, fallback.v4.entries, fallback.v4.count
            )
            fallback.v4.count = 0
        }
        if fallback.v6.count > 0 {
            unsafe send(
                fallback.v6.descriptor, fallback.v6.messages, fallback.v6.entries, fallback.v6.count
            )
            fallback.v6.count = 0
        }
    }

    @_noLocks @_noAllocation
    private mutating func send(
        _ descriptor: Int32, _ messages: UnsafeMutablePointer<cnet_message>,
        _ entries: UnsafeMutablePointer<FallbackBatch.Entry>, _ count: Int
    ) {
        var next = 0
        while next < count {
            let result = unsafe cnet_send_batch(
                descriptor, messages + next, UInt32(count &- next), Int32(CNET_DONT_WAIT))
            if result == -EINTR { continue }
            let sent = max(0, Int(result))
            counts.add(UInt64(sent), at: .kernelSends)
            for place in next..<next &+ sent {
                let entry = unsafe entries[place]
                unsafe credit(entry.payload, entry.service, entry.target)
                store.put(entry.frame)
            }
            next &+= sent
            guard sent == 0 else { continue }
            let entry = unsafe entries[next]
            let failed = Packet(address: entry.frame, bytes: 0)
            unsafe drop(failed, dropReason(ofSend: -result), entry.service, entry.target)
            next &+= 1
        }
    }
}
