// SPDX-License-Identifier: Apache-2.0

/// Why a listener matches a destination.
public enum DestinationMatch: Equatable, Sendable {
    /// By its `bind` address.
    case bound
    /// By one of its `addresses`.
    case listed
    /// By its wildcard `bind`: any address of this host, or of the interface in a kernel mode.
    case wildcard
    /// By `addresses: any`.
    case anyDestination

    var rank: Int {
        switch self {
        case .bound: 0
        case .listed: 1
        case .wildcard: 2
        case .anyDestination: 3
        }
    }

    /// - Parameter port: the destination's, one of the listener's.
    func sentence(_ listener: Listener, port: UInt16) -> String {
        let name = "listener \(listener.name) (\(listener.mode.rawValue))"
        return switch self {
        case .bound: "\(name) is bound to the destination"
        case .listed: "\(name) has the destination among its addresses"
        case .anyDestination: "\(name) takes every destination on port \(port)"
        case .wildcard:
            if let interface = listener.interface {
                "\(name) takes port \(port) on the addresses of \(interface)"
            } else {
                "\(name) takes port \(port) on every address of this host"
            }
        }
    }
}

extension Listener {
    /// Why the listener matches `destination`; nil if it does not. Does not check that the wildcard's host or
    /// interface has the address.
    public func match(_ destination: Endpoint) -> DestinationMatch? {
        guard ports.contains(destination.port) else { return nil }
        let address = destination.address
        if bind.address.isSameHost(as: address) { return .bound }
        switch served {
        case .listed(let more) where more.contains { $0.isSameHost(as: address) }: return .listed
        case .any: return .anyDestination
        case .listed: break
        }
        // [::] serves IPv4 as well.
        guard bind.address.isWildcard, bind.address.family == .v6 || address.family == .v4 else {
            return nil
        }
        return .wildcard
    }
}

extension IPAddress {
    /// Equal except for the zone, which a packet does not carry.
    fileprivate func isSameHost(as other: IPAddress) -> Bool {
        high == other.high && low == other.low
    }
}
