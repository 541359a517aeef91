// SPDX-License-Identifier: Apache-2.0

internal import CNet
// Its header includes sys/socket.h; an optimising build attributes sockaddr_storage to this module.
internal import CReusePortLB
internal import Glibc

/// A descriptor that a socket, its memberships and its readers share. The last of them closes it, so that none of them
/// uses a number that has been reused.
final class SocketHandle: Sendable {
    let descriptor: Int32
    private let isOwned: Bool

    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        isOwned = true
    }

    /// The caller closes it.
    init(borrowing descriptor: Int32) {
        self.descriptor = descriptor
        isOwned = false
    }

    deinit {
        if isOwned { _ = close(descriptor) }
    }

    /// The kernel's number of the socket, which is never reused; 0 for a closed descriptor.
    var cookie: UInt64 { option(SO_COOKIE, as: UInt64.self) ?? 0 }

    /// Reads a fixed-size socket option; nil when there is none.
    func option<Value: BitwiseCopyable & ExpressibleByIntegerLiteral>(
        _ option: Int32, as type: Value.Type
    ) -> Value? {
        var value: Value = 0
        var size = socklen_t(MemoryLayout<Value>.size)
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &size)
        return result == 0 ? value : nil
    }

    /// The address that the socket is bound to; nil when it is not bound, or not a socket over IP.
    var endpoint: Endpoint? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: sockaddr_storage has room for every address, and begins as a sockaddr does.
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        return result == 0 ? Endpoint(storage: storage) : nil
    }
}
