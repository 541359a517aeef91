// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// Bound sockets that another process has passed: the old daemon or a service manager. A listener with the
/// address of one takes it over instead of opening its own; datagrams that wait in it are forwarded.
public final class InheritedSockets: Sendable {
    /// Those of one address.
    struct Share {
        var descriptors: [Int32] = []
        /// Whether a program of their reuseport group leads each source to one of them.
        var isSteered = false
    }

    private let waiting: Mutex<[Endpoint: Share]>
    private let begin: @Sendable () throws(PlaneError) -> Void

    /// - Parameters:
    ///   - sockets: from here on this object's to close. Those that are no bound UDP sockets are closed at
    ///     once.
    ///   - begin: called once, when all that can fail has been done: when it returns no other process reads
    ///     from the sockets. It may block for a moment. When it throws, nothing has been taken.
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

    /// Those at an address, once.
    func take(_ bind: Endpoint) -> Share? {
        waiting.withLock { $0.removeValue(forKey: bind.withoutZone) }
    }

    func switchOver() throws(PlaneError) { try begin() }
}

extension Endpoint {
    /// The kernel's name of a socket tells the zone by a number.
    public var withoutZone: Endpoint {
        Endpoint(IPAddress(high: address.high, low: address.low), port: port)
    }
}

extension PlaneError {
    /// A listener's own socket could not be had.
    init(binding error: SystemError, of listener: Listener) {
        let remedy =
            switch error.code {
            case EADDRINUSE:
                "another process serves this address; stop it, choose another bind, or write "
                    + "settings.share_port: true to share the port with it"
            case EACCES:
                "ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE; run as "
                    + "root, or grant it with setcap cap_net_bind_service+ep"
            case EADDRNOTAVAIL:
                "no interface of this host has the address; set one that `ip address` lists, or "
                    + "0.0.0.0 or [::] for all"
            case ENODEV: "write the zone of the address as `ip link` names the interface"
            case EAFNOSUPPORT: "this kernel has no support for the address family; use the other"
            default: Self.resources(error.code)
            }
        self.init(
            operation: error.operation, subject: "listener \(listener.name) on \(listener.bind)",
            code: error.code, reason: error.reason, remedy: remedy)
    }

    /// The socket that leads to a receiver could not be had.
    init(opening error: SystemError, downstream: Downstream, of listener: Listener) {
        let remedy =
            switch error.code {
            case EPERM where listener.preserveSource, EACCES where listener.preserveSource:
                "preserve_source sends through a raw socket, which needs CAP_NET_RAW; run as root, "
                    + "grant it with setcap cap_net_raw+ep, or set preserve_source: false"
            case EAGAIN:
                "the local ports are used up; widen net.ipv4.ip_local_port_range, or use fewer "
                    + "workers or downstreams"
            case ENODEV: "write the zone of the address as `ip link` names the interface"
            default: Self.resources(error.code)
            }
        self.init(
            operation: error.operation,
            subject: "downstream \(downstream.name) at \(downstream.endpoint) of listener "
                + listener.name,
            code: error.code, reason: error.reason, remedy: remedy)
    }

    /// A worker's thread could not be had.
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
