// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Consecutive bytes of one received message for one receiver: one datagram, or the datagrams of a super-packet.
@safe struct Run {
    var base: UnsafeMutableRawPointer
    /// The total in bytes; 0 for an empty datagram.
    var length: Int32
    /// Bytes of each datagram; the last may be shorter.
    var segment: Int32
    /// Datagrams, at least 1.
    var count: Int32
    /// The receiver's next run in this batch, or -1.
    var next: Int32
    /// The received message with these bytes.
    var message: Int32

    @_noLocks @_noAllocation
    init(
        base: UnsafeMutableRawPointer, length: Int32, segment: Int32, count: Int32, message: Int
    ) {
        unsafe self.base = base
        self.length = length
        self.segment = segment
        self.count = count
        next = -1
        self.message = Int32(truncatingIfNeeded: message)
    }

    /// Removes the first datagram, and returns it as a run of its own.
    @_noLocks @_noAllocation @inline(__always)
    mutating func takeFirst() -> Run {
        var one = self
        one.length = min(segment, length)
        one.segment = one.length
        one.count = 1
        unsafe base += Int(segment)
        length &-= segment
        count &-= 1
        return one
    }
}

/// What a message to send counts as.
struct Outgoing {
    var datagrams: Int32 = 0
    var bytes: Int32 = 0
    var segment: Int32 = 0

    @_noLocks @_noAllocation
    init(datagrams: Int32, bytes: Int32, segment: Int32) {
        self.datagrams = datagrams
        self.bytes = bytes
        self.segment = segment
    }
}

/// All memory that a worker needs for one batch, allocated once. Pages without a datagram are never touched, so a
/// large batch size costs address space, not memory.
@safe struct BatchMemory: ~Copyable {
    /// A super-packet is at most one IP datagram long, whatever `max_packet_size` is.
    let bufferBytes = 65536
    /// An odd number of cache lines beyond a power of two, so that the buffers do not compete for the same sets.
    let bufferStride = 65536 + 3 * 64
    /// The most datagrams in a super-packet of a Linux client (kernel: UDP_MAX_SEGMENTS).
    let segmentsMax = 128
    let outgoingMax = 64
    let outgoingVectors = 1024
    let addressBytes = MemoryLayout<sockaddr_in6>.size

    let capacity: Int
    // SAFETY: all of them are allocated in init and freed in deinit; the worker that owns this value is
    // the only one to touch them, and the kernel only during a call that the worker makes.
    let incoming: UnsafeMutablePointer<cnet_message>
    private let incomingVectors: UnsafeMutablePointer<iovec>
    private let buffers: UnsafeMutableRawPointer
    private let addresses: UnsafeMutableRawPointer
    private let controls: UnsafeMutableRawPointer
    let runs: UnsafeMutablePointer<Run>
    /// When they are used up, the gathered messages are sent before the batch continues.
    let runsMax: Int
    /// Indices of the receivers of this batch.
    let touched: UnsafeMutablePointer<Int32>
    /// The last entry of these three is for a datagram that must go by itself.
    let outgoing: UnsafeMutablePointer<cnet_message>
    let outgoingFacts: UnsafeMutablePointer<Outgoing>
    let vectors: UnsafeMutablePointer<iovec>
    let outgoingControls: UnsafeMutableRawPointer
    /// UDP headers for raw sockets, 8 bytes each.
    let headers: UnsafeMutableRawPointer

    /// - Parameter capacity: messages in one receive call, 1...1024.
    init(capacity: Int) {
        self.capacity = capacity
        runsMax = min(capacity * segmentsMax, 4096)
        unsafe incoming = .allocate(capacity: capacity)
        unsafe incomingVectors = .allocate(capacity: capacity)
        unsafe buffers = .allocate(byteCount: capacity * bufferStride, alignment: 4096)
        unsafe addresses = .allocate(byteCount: capacity * addressBytes, alignment: 16)
        unsafe controls = .allocate(
            byteCount: capacity * CNET_RECEIVE_CONTROL, alignment: 16)
        unsafe runs = .allocate(capacity: runsMax)
        unsafe touched = .allocate(capacity: runsMax)
        unsafe outgoing = .allocate(capacity: outgoingMax + 1)
        unsafe outgoingFacts = .allocate(capacity: outgoingMax + 1)
        unsafe vectors = .allocate(capacity: outgoingVectors + 1)
        unsafe outgoingControls = .allocate(
            byteCount: outgoingMax * CNET_SEND_CONTROL, alignment: 16)
        unsafe headers = .allocate(byteCount: outgoingMax * 8, alignment: 16)
        // A huge page would hold some thirty buffers, and one small datagram in each touches them all.
        let pages = capacity * bufferStride / 4096
        unsafe madvise(buffers, pages * 4096, Int32(MADV_NOHUGEPAGE))
        for index in 0..<capacity { prepare(index) }
    }

    deinit {
        unsafe incoming.deallocate()
        unsafe incomingVectors.deallocate()
        unsafe buffers.deallocate()
        unsafe addresses.deallocate()
        unsafe controls.deallocate()
        unsafe runs.deallocate()
        unsafe touched.deallocate()
        unsafe outgoing.deallocate()
        unsafe outgoingFacts.deallocate()
        unsafe vectors.deallocate()
        unsafe outgoingControls.deallocate()
        unsafe headers.deallocate()
    }

    private func prepare(_ index: Int) {
        unsafe incomingVectors[index] = iovec(
            iov_base: buffers + index * bufferStride, iov_len: bufferBytes)
        var header = unsafe msghdr()
        unsafe header.msg_iov = incomingVectors + index
        unsafe header.msg_iovlen = 1
        unsafe header.msg_name = addresses + index * addressBytes
        unsafe header.msg_control = controls + index * CNET_RECEIVE_CONTROL
        unsafe incoming[index] = cnet_message(header: header, length: 0)
        rearm(index)
    }

    /// Restores the buffer lengths of a message that the kernel overwrote.
    @_noLocks @_noAllocation @inline(__always)
    borrowing func rearm(_ index: Int) {
        unsafe incoming[index].header.msg_namelen = socklen_t(addressBytes)
        unsafe incoming[index].header.msg_controllen = CNET_RECEIVE_CONTROL
    }

    @_noLocks @_noAllocation @inline(__always)
    borrowing func payload(_ index: Int) -> UnsafeMutableRawPointer {
        unsafe buffers + index &* bufferStride
    }

    @_noLocks @_noAllocation @inline(__always)
    borrowing func source(_ index: Int) -> UnsafeMutableRawPointer {
        unsafe addresses + index &* addressBytes
    }
}
