// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// Bound sockets from another process: the old daemon or a service manager. A listener with the same address takes
/// them over instead of opening its own; datagrams in their queues are forwarded.
public final class InheritedSockets: Sendable {
    /// The sockets of one address.
    struct Share {
        var descriptors: [Int32] = []
        /// Whether a program of their reuseport group steers each source to one of them.
        var isSteered = false
    }

    private let waiting: Mutex<[Endpoint: Share]>
    private let begin: @Sendable () throws(PlaneError) -> Void

    /// - Parameters:
    ///   - sockets: this object owns and closes them. Any that is not a bound UDP socket is closed at once.
    ///   - begin: called once, after all that can fail. When it returns, no other process reads from the sockets. It
    ///     may block for a moment. When it throws, the sockets are not taken over.
    public init(
        _ sockets: [(descriptor: Int32, isSteered: Bool)],
        begin: @escaping @Sendable () throws(PlaneError) -> Void = {}
    ) {
        self.begin = begin
        var byName: [Endpoint: Share] = [:]
        for (descriptor, isSteered) in sockets {
            guard let name = Socket.datagramName(of: descriptor) else {
                ThisProcess.close(descriptor)
                continue
            }
            byName[name, default: Share()].descriptors.append(descriptor)
            byName[name]?.isSteered = isSteered
        }
        waiting = Mutex(byName)
    }

    deinit {
        for descriptor in waiting.withLock({ $0.values.flatMap(\.descriptors) }) {
            ThisProcess.close(descriptor)
        }
    }

    /// The addresses whose sockets no listener has taken.
    public var untaken: [Endpoint] { waiting.withLock { $0.keys.sorted() } }

    /// Removes and returns the sockets of an address.
    func take(_ bind: Endpoint) -> Share? {
        waiting.withLock { $0.removeValue(forKey: bind.withoutZone) }
    }

    func switchOver() throws(PlaneError) { try begin() }
}

extension Endpoint {
    /// The kernel reports the zone of a socket's address as a number.
    public var withoutZone: Endpoint {
        Endpoint(IPAddress(high: address.high, low: address.low), port: port)
    }
}

extension PlaneError {
    /// The error when a listener's own socket cannot be opened.
    init(binding error: SystemError, of listener: Listener) {
        let remedy =
            switch error.code {
            case EADDRINUSE:
                "another process serves this address; stop it, choose another bind, or set "
                    + "settings.share_port: true to share the port with it"
            case EACCES:
                "ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE; run as "
                    + "root, or grant it with setcap cap_net_bind_service+ep"
            case EADDRNOTAVAIL:
                "no interface of this host has the address; set one that `ip address` lists, or "
                    + "0.0.0.0 or [::] for all"
            case ENODEV: "set the zone of the address to an interface name of `ip link`"
            case EAFNOSUPPORT: "this kernel has no support for the address family; use the other"
            default: Self.resources(error.code)
            }
        self.init(
            operation: error.operation, subject: "listener \(listener.name) on \(listener.bind)",
            code: error.code, reason: error.reason, remedy: remedy)
    }

    /// The error when a socket to a receiver cannot be opened.
    init(opening error: SystemError, downstream: Downstream, of listener: Listener) {
        let remedy =
            switch error.code {
            case EPERM where listener.preserveSource, EACCES where listener.preserveSource:
                "preserve_source sends through a raw socket, which needs CAP_NET_RAW; run as root, "
                    + "grant it with setcap cap_net_raw+ep, or set preserve_source: false"
            case EAGAIN:
                "the local ports are used up; widen net.ipv4.ip_local_port_range, or use fewer "
                    + "workers or downstreams"
            case ENODEV: "set the zone of the address to an interface name of `ip link`"
            default: Self.resources(error.code)
            }
        self.init(
            operation: error.operation,
            subject: "downstream \(downstream.name) at \(downstream.endpoint) of listener "
                + listener.name,
            code: error.code, reason: error.reason, remedy: remedy)
    }

    /// The error when a worker's thread cannot be started.
    init(starting error: SystemError, of listener: Listener) {
        self.init(
            operation: error.operation, subject: "worker of listener \(listener.name)",
            code: error.code, reason: error.reason,
            remedy: "raise the limit of threads (ulimit -u, or TasksMax of the unit), or lower "
                + "settings.workers")
    }

    private static func resources(_ code: Int32) -> String {
        switch code {
        case EMFILE, ENFILE:
            "raise the limit of open files (ulimit -n, or LimitNOFILE of the unit), or use fewer "
                + "workers or downstreams"
        case ENOBUFS, ENOMEM: "free memory on this host"
        default: "see the kernel's reason"
        }
    }
}
