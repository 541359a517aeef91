// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import Glibc

/// One source of a worker, as the hot loop needs it.
struct WorkerSource {
    /// Its own connected socket, or the worker's shared one.
    var descriptor: Int32
    /// Whether each message must carry the source address; else the socket or the kernel sets it.
    var isNamed: Bool
    var isIPv6: Bool
    /// Host order, as in `IPAddress`.
    var high: UInt64
    var low: UInt64
}

/// The memory of a worker for one batch, allocated once: messages with a text each and a shared padding.
@safe struct WorkerMemory: ~Copyable {
    static var batch: Int { 64 }
    /// Room for the longest text, `Message.bytesNeeded(total: 0)`, in half a cache line.
    private static var textRoom: Int { 32 }

    // SAFETY: all of them are allocated in init and freed in deinit; the worker that owns this value is
    // the only one to touch them, and the kernel only during a call that the worker makes.
    let messages: UnsafeMutablePointer<cnet_message>
    let sources: UnsafeMutablePointer<WorkerSource>
    /// Payload bytes of each message.
    let lengths: UnsafeMutablePointer<UInt64>
    /// The errno of each failed message of a batch, in the order in which they failed.
    let codes: UnsafeMutablePointer<Int32>
    /// The descriptor that sends each message.
    let descriptors: UnsafeMutablePointer<Int32>
    private let vectors: UnsafeMutablePointer<iovec>
    private let texts: UnsafeMutablePointer<UInt8>
    private let padding: UnsafeMutablePointer<UInt8>
    private let controls: UnsafeMutableRawPointer
    private let name: UnsafeMutablePointer<cnet_name>
    private let size: Int?
    private let prefixBytes = Message.prefix.utf8CodeUnitCount

    /// - Parameters:
    ///   - size: payload bytes; nil = as long as the text.
    ///   - destination: for sockets without a peer; nil: they are connected.
    init(sources list: [WorkerSource], size: Int?, destination: cnet_name?) {
        let batch = Self.batch
        self.size = size
        unsafe messages = .allocate(capacity: batch)
        unsafe sources = .allocate(capacity: list.count)
        unsafe lengths = .allocate(capacity: batch)
        unsafe codes = .allocate(capacity: batch)
        unsafe descriptors = .allocate(capacity: batch)
        unsafe vectors = .allocate(capacity: batch * 2)
        unsafe texts = .allocate(capacity: batch * Self.textRoom)
        unsafe padding = .allocate(capacity: max(1, size ?? 0))
        unsafe controls = .allocate(byteCount: batch * CNET_SEND_CONTROL, alignment: 16)
        unsafe name = .allocate(capacity: 1)
        unsafe name.initialize(to: destination ?? cnet_name())
        unsafe padding.initialize(repeating: 32, count: max(1, size ?? 0))
        unsafe controls.initializeMemory(
            as: UInt8.self, repeating: 0, count: batch * CNET_SEND_CONTROL)
        for (index, source) in list.enumerated() { unsafe sources[index] = source }
        for index in 0..<batch {
            unsafe memcpy(text(index), Message.prefix.utf8Start, prefixBytes)
            var header = unsafe msghdr()
            unsafe header.msg_iov = vectors + index * 2
            if let destination {
                unsafe header.msg_name = UnsafeMutableRawPointer(name)
                unsafe header.msg_namelen = destination.bytes
            }
            unsafe messages[index] = cnet_message(header: header, length: 0)
        }
    }

    deinit {
        unsafe messages.deallocate()
        unsafe sources.deallocate()
        unsafe lengths.deallocate()
        unsafe codes.deallocate()
        unsafe descriptors.deallocate()
        unsafe vectors.deallocate()
        unsafe texts.deallocate()
        unsafe padding.deallocate()
        unsafe controls.deallocate()
        unsafe name.deallocate()
    }

    @_noLocks @_noAllocation @inline(__always)
    private borrowing func text(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe texts + index &* Self.textRoom
    }

    /// Composes message `index` as datagram `number` from source `source` of this worker.
    @_noLocks @_noAllocation
    borrowing func compose(_ index: Int, number: UInt64, source: Int) {
        let length = writeText(index, number)
        let whole = size ?? length
        let vector = unsafe vectors + index &* 2
        unsafe vector[0] = iovec(iov_base: text(index), iov_len: length)
        unsafe vector[1] = iovec(iov_base: padding, iov_len: whole &- length)
        let message = unsafe messages + index
        unsafe message.pointee.header.msg_iovlen = whole > length ? 2 : 1
        unsafe lengths[index] = UInt64(truncatingIfNeeded: whole)

        let from = unsafe sources[source]
        unsafe descriptors[index] = from.descriptor
        guard from.isNamed else { return }
        let control = unsafe controls + index &* CNET_SEND_CONTROL
        unsafe message.pointee.header.msg_control = control
        unsafe message.pointee.header.msg_controllen =
            from.isIPv6
            ? cnet_write_source_v6(control, from.high, from.low)
            : cnet_write_source_v4(control, UInt32(truncatingIfNeeded: from.low))
    }

    /// Writes the number and the exclamation mark after the prefix. Returns the length of the whole text.
    @_noLocks @_noAllocation
    private borrowing func writeText(_ index: Int, _ number: UInt64) -> Int {
        var digits = 1
        var rest = number / 10
        while rest > 0 {
            digits &+= 1
            rest /= 10
        }
        let start = unsafe text(index) + prefixBytes
        rest = number
        var place = digits
        while place > 0 {
            place &-= 1
            unsafe start[place] = 48 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        unsafe start[digits] = 33
        return prefixBytes &+ digits &+ 1
    }
}

/// The payload: `Hello World %d!`, padded with spaces if a size is asked for.
enum Message {
    static let prefix: StaticString = "Hello World "

    /// Most digits of a number: those of the largest `N`.
    static let digitsMax = 19

    static func text(_ number: UInt64) -> String { "\(prefix)\(number)!" }

    /// Bytes that hold every message of a run of `total` datagrams; 0 = for ever.
    static func bytesNeeded(total: UInt64) -> Int {
        let digits = total == 0 ? digitsMax : String(total - 1).utf8.count
        return prefix.utf8CodeUnitCount + digits + 1
    }

    /// The largest payload: an IP datagram of 65535 bytes less the headers of IP (RFC 791, RFC 8200)
    /// and of UDP (RFC 768).
    static func bytesMax(_ family: IPAddress.Family) -> Int {
        family == .v4 ? 65_535 - 20 - 8 : 65_535 - 40 - 8
    }
}
