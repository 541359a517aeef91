// SPDX-License-Identifier: Apache-2.0

/// Finds the listener that takes datagrams to an endpoint.
///
/// A wildcard bind takes the loopback addresses, the given addresses of this host, and every address that another
/// listener's socket is bound to.
public struct OwnDestinations: Sendable {
    private var owners: [Endpoint: Int] = [:]
    private var wildcards: [UInt16: [IPAddress.Family: Int]] = [:]
    private var local: Set<IPAddress>
    private var ports = Set<UInt16>()

    /// - Parameter local: addresses of this host.
    public init(local: Set<IPAddress> = []) { self.local = local }

    /// - Parameters:
    ///   - wildcard: the families of which every address is taken; empty: only the endpoint's own address.
    ///   - isSocket: whether a socket is bound to it; false for a program at an interface.
    ///   - owner: the index of the listener; the first to add a destination owns it.
    public mutating func add(
        _ endpoint: Endpoint, wildcard: [IPAddress.Family], isSocket: Bool, owner: Int
    ) {
        ports.insert(endpoint.port)
        if wildcard.isEmpty {
            owners[endpoint] = owners[endpoint] ?? owner
            if isSocket { local.insert(endpoint.address) }
        }
        for family in wildcard {
            let known = wildcards[endpoint.port]?[family]
            wildcards[endpoint.port, default: [:]][family] = known ?? owner
        }
    }

    /// The listener that takes it; nil if none is known.
    public func owner(of endpoint: Endpoint) -> Int? {
        guard ports.contains(endpoint.port) else { return nil }
        if let owner = owners[endpoint] { return owner }
        guard endpoint.address.isLoopback || local.contains(endpoint.address) else { return nil }
        return wildcards[endpoint.port]?[endpoint.address.family]
    }
}

extension OwnDestinations {
    /// Datagrams from this host to itself use the loopback interface, so programs on other interfaces never see
    /// them. A listener of a kernel mode may therefore have a receiver on its own address, to which the stack
    /// delivers.
    init(sentByThisHostTo listeners: [Listener], on host: Set<IPAddress>) {
        self.init(local: host)
        for (index, listener) in listeners.enumerated()
        where listener.interface == nil || listener.interface == "lo" {
            let own = listener.bind.address
            // A socket bound to [::] is dual-stack: it also takes datagrams to any IPv4 address.
            let families: [IPAddress.Family] = own.family == .v6 ? [.v4, .v6] : [.v4]
            func claim(_ address: IPAddress, _ port: UInt16, _ wildcard: [IPAddress.Family] = []) {
                add(
                    Endpoint(address, port: port), wildcard: wildcard,
                    isSocket: listener.interface == nil, owner: index)
            }
            for port in listener.ports {
                claim(own, port, own.isWildcard ? families : [])
            }
            switch listener.served {
            case .any: claim(own, listener.bind.port, [.v4, .v6])
            case .listed(let more): for address in more { claim(address, listener.bind.port) }
            }
        }
    }
}
