// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Memory for the datagrams of one recvmmsg(2), allocated once and reused. Pages that no datagram reaches are never
/// touched.
@safe public struct ReceiveBatch: ~Copyable, @unchecked Sendable {
    /// Datagrams that one call can receive.
    public let capacity: Int
    /// Bytes kept of a datagram.
    public let maximumBytes: Int
    /// Datagrams that the last call received.
    public internal(set) var count = 0

    // SAFETY: allocated in init, freed in deinit, and touched by the owner of this value alone; by the
    // kernel only during a call that the owner makes.
    let messages: UnsafeMutablePointer<cnet_message>
    private let vectors: UnsafeMutablePointer<iovec>
    private let payloads: UnsafeMutableRawPointer
    private let names: UnsafeMutableRawPointer
    private static var nameBytes: Int { MemoryLayout<sockaddr_in6>.size }

    /// - Parameters:
    ///   - capacity: 1...1024 datagrams; other values are clamped.
    ///   - maximumBytes: 1...65535; a longer datagram is cut and marked.
    public init(capacity: Int = 64, maximumBytes: Int = 65_535) {
        let capacity = min(max(capacity, 1), 1024)
        let room = min(max(maximumBytes, 1), 65_535)
        self.capacity = capacity
        self.maximumBytes = room
        unsafe messages = .allocate(capacity: capacity)
        unsafe vectors = .allocate(capacity: capacity)
        unsafe payloads = .allocate(byteCount: capacity * room, alignment: 4096)
        unsafe names = .allocate(byteCount: capacity * Self.nameBytes, alignment: 16)
        for index in 0..<capacity {
            unsafe vectors[index] = iovec(iov_base: payloads + index * room, iov_len: room)
            var header = unsafe msghdr()
            unsafe header.msg_iov = vectors + index
            unsafe header.msg_iovlen = 1
            unsafe header.msg_name = names + index * Self.nameBytes
            unsafe messages[index] = cnet_message(header: header, length: 0)
        }
    }

    deinit {
        unsafe messages.deallocate()
        unsafe vectors.deallocate()
        unsafe payloads.deallocate()
        unsafe names.deallocate()
    }

    /// Resets the name length of the first messages.
    mutating func rearm(_ wanted: Int) {
        count = 0
        for index in 0..<wanted {
            unsafe messages[index].header.msg_namelen = socklen_t(Self.nameBytes)
        }
    }

    private func checked(_ index: Int) -> Int {
        precondition(index >= 0 && index < count, "no such datagram in the batch")
        return index
    }

    /// The sender of datagram `index` of 0..<``count``. Does not allocate.
    public func source(_ index: Int) -> Endpoint {
        let name = unsafe names + checked(index) * Self.nameBytes
        // A socket over IP has only IP senders; this default is never used.
        return unsafe Endpoint(reading: name) ?? Endpoint(IPAddress(v4: 0), port: 0)
    }

    /// Length of datagram `index` in bytes, including those cut off.
    public func length(_ index: Int) -> Int { unsafe Int(messages[checked(index)].length) }

    /// Whether datagram `index` was longer than the buffer.
    public func isTruncated(_ index: Int) -> Bool {
        unsafe messages[checked(index)].header.msg_flags & Int32(CNET_TRUNCATED) != 0
    }

    /// Calls `body` with the kept bytes of datagram `index`.
    public func withBytes<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
        let kept = min(length(index), maximumBytes)
        // SAFETY: the kernel has written so many bytes there, and nothing writes while `self` is borrowed.
        let span = unsafe RawSpan(
            _unsafeStart: UnsafeRawPointer(payloads + index * maximumBytes), byteCount: kept)
        return body(span)
    }

    /// A copy of datagram `index`.
    public func datagram(_ index: Int) -> Datagram {
        let bytes = withBytes(index) { span in
            unsafe span.withUnsafeBytes { unsafe [UInt8]($0) }
        }
        return Datagram(
            bytes: bytes, source: source(index), isTruncated: isTruncated(index))
    }
}
