// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc
internal import LinuxNet

/// Packets of one batch that the kernel is to send, and the raw sockets for them. A packet goes as it is, IP
/// header and all, and by the routes (raw(7), IPPROTO_RAW).
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
