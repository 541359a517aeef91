// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import Glibc

// Sending with the client's address and port. A raw socket for UDP takes the UDP header from us and
// the source address from the packet information of each message (IP_TRANSPARENT lets it be anybody's);
// the kernel still builds the IP header, so it also fragments what exceeds the MTU.

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
            // The family alone is needed, so the packet information does not matter.
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

    /// The UDP checksum over pseudo-header, header and payload (RFC 768; RFC 8200, section 8.1). The
    /// IPv4 pseudo-header adds up to the same sum as the mapped IPv6 one less the two ffff groups.
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
