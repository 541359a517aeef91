// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
internal import Synchronization

/// Bound sockets that another process has passed: the daemon before, or a service manager. A listener with
/// the address of one takes it over instead of opening its own; whatever waits in it is forwarded.
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
    ///   - begin: called once, when all that can fail has been done: when it returns nobody else reads
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

    /// The addresses whose sockets nobody has taken.
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
