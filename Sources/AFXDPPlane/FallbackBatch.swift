// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import Glibc
internal import LinuxNet
internal import XDPSockets

/// Packets of one batch that the kernel must send, and the raw sockets for them. A packet keeps its IP header, and goes
/// by the routes (raw(7), IPPROTO_RAW).
@safe struct FallbackBatch: ~Copyable {
    /// One packet on its way.
    @safe struct Entry {
        // SAFETY: of the table in use, and of the worker's frames.
        var service: UnsafeMutablePointer<Service>
        var target: UnsafeMutablePointer<Target>
        var frame: UInt64
        var payload: UInt32

        @_noLocks @_noAllocation
        init(
            service: UnsafeMutablePointer<Service>, target: UnsafeMutablePointer<Target>,
            frame: UInt64, payload: UInt32
        ) {
            unsafe self.service = service
            unsafe self.target = target
            self.frame = frame
            self.payload = payload
        }
    }

    /// The packets of one family.
    @safe struct Family: ~Copyable {
        private let socket: Socket
        let descriptor: Int32
        // SAFETY: `AFXDPWorker.batch` of each, allocated in init and freed in deinit; the worker alone uses
        // them, and the kernel during a call of the worker.
        let messages: UnsafeMutablePointer<cnet_message>
        let vectors: UnsafeMutablePointer<iovec>
        let entries: UnsafeMutablePointer<Entry>
        var count = 0

        init(_ family: Int32) throws(SystemError) {
            let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let made = try Socket(family: family, type: type, protocol: Int32(IPPROTO_RAW))
            try? made.requestSendBuffer(bytes: 4 << 20)
            if family == AF_INET6 {
                let result = cnet_take_headers(made.descriptor)
                if result < 0 { throw SystemError("setsockopt IPV6_HDRINCL", code: -result) }
            }
            descriptor = made.descriptor
            socket = made
            let capacity = Int(AFXDPWorker.batch)
            unsafe messages = .allocate(capacity: capacity)
            unsafe messages.initialize(repeating: cnet_message(), count: capacity)
            unsafe vectors = .allocate(capacity: capacity)
            unsafe vectors.initialize(repeating: iovec(), count: capacity)
            unsafe entries = .allocate(capacity: capacity)
        }

        deinit {
            unsafe messages.deallocate()
            unsafe vectors.deallocate()
            unsafe entries.deallocate()
        }
    }

    var v4: Family
    var v6: Family

    /// - Throws: `SystemError` EPERM without CAP_NET_RAW, EMFILE when descriptors run out.
    init() throws(SystemError) {
        let first = try Family(AF_INET)
        let second = try Family(AF_INET6)
        v4 = first
        v6 = second
    }
}

// The kernel sends packets without a transmit ring: to receivers on this host, behind several next hops or a tunnel,
// and to those whose link-layer address is unknown: sending to them makes the kernel resolve it.

extension AFXDPWorker {
    /// Adds a rewritten packet to the batch for the kernel.
    ///
    /// - Parameter ip: the offset of its IP header.
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

    /// Sends the batch. An error concerns one packet: the rest is still sent.
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
