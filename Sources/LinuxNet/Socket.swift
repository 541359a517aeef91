// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import CNet
internal import Glibc

/// A socket that is closed when its owner goes.
public struct Socket: ~Copyable, Sendable {
    /// Valid as long as this value lives.
    public let descriptor: Int32

    /// A close-on-exec socket; `type` may carry SOCK_NONBLOCK.
    ///
    /// - Throws: `SystemError` with the errno of socket(2): EPERM without the capability that the kind
    ///   needs, EMFILE or ENFILE when descriptors run out.
    public init(family: Int32, type: Int32, protocol number: Int32 = 0) throws(SystemError) {
        let flags = type | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = try check("socket", orError(socket(family, flags, number)))
    }

    /// Takes over a descriptor, which is closed with this value.
    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = close(descriptor) }

    /// A TCP socket bound to `endpoint`, to hold a port.
    public static func boundStream(on endpoint: Endpoint) throws(SystemError) -> Socket {
        let socket = try Socket(
            family: endpoint.address.nativeFamily, type: Int32(SOCK_STREAM.rawValue))
        try socket.setOption("SO_REUSEADDR", level: SOL_SOCKET, SO_REUSEADDR, to: 1)
        try socket.bind(to: endpoint)
        return socket
    }

    public func bind(to endpoint: Endpoint) throws(SystemError) {
        unsafe try endpoint.withSocketAddress { address, size throws(SystemError) in
            _ = unsafe try check("bind", orError(Glibc.bind(descriptor, address, size)))
        }
    }

    public func connect(to endpoint: Endpoint) throws(SystemError) {
        unsafe try endpoint.withSocketAddress { address, size throws(SystemError) in
            _ = unsafe try check("connect", orError(Glibc.connect(descriptor, address, size)))
        }
    }

    public func setOption(
        _ name: String, level: Int32, _ option: Int32, to value: Int32
    ) throws(SystemError) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        unsafe try check(
            "setsockopt \(name)", orError(setsockopt(descriptor, level, option, &value, size)))
    }

    /// Wakes a thread that waits in a receive call, now and in every later call once the queue is
    /// empty. The kernel reports ENOTCONN for a socket without a peer and does it all the same.
    public func wakeReceiver() { _ = shutdown(descriptor, Int32(SHUT_RD)) }

    /// Whether a receive call would find something, be it an error.
    public var hasInput: Bool { cnet_wait_readable(descriptor, 0) != 0 }

    /// The errno of an earlier operation, which the kernel then forgets (socket(7), SO_ERROR); 0 for none.
    public func takeError() -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the value has the size that the call is told.
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        return result < 0 ? errno : code
    }

    /// Datagrams that the kernel dropped here so far: full buffer, bad checksum.
    public var kernelDrops: UInt64 { UInt64(max(0, cnet_socket_drops(descriptor))) }
}

/// -errno in place of -1.
func orError(_ result: Int32) -> Int32 { result < 0 ? -errno : result }
