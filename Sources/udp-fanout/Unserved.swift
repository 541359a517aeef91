// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

#if KernelModes
    internal import KernelForwarding

    /// Why listeners with a wildcard bind do not serve an address, by the kernel's tables.
    enum Unserved {
        /// The reasons by listener. When a lookup fails, the address counts as served.
        static func reasons(
            _ destination: Endpoint, among listeners: [Listener]
        ) -> [String: String] {
            let wildcards = listeners.filter { $0.match(destination) == .wildcard }
            guard !wildcards.isEmpty, var netlink = try? Netlink(),
                let network = try? NetworkView.ask(
                    &netlink, names: Set(wildcards.compactMap(\.interface)), known: [:],
                    receivers: [])
            else { return [:] }
            let address = destination.address
            return wildcards.reduce(into: [:]) { reasons, listener in
                let place: String
                if let name = listener.interface {
                    guard let interface = network.interface(named: name),
                        !serves(address, listener, interface)
                    else { return }
                    place = name
                } else {
                    guard !isOwn(address, &netlink) else { return }
                    place = "this host"
                }
                reasons[listener.name] =
                    "it takes the addresses of \(place), and \(address) is none of them"
            }
        }

        private static func serves(
            _ address: IPAddress, _ listener: Listener, _ interface: HostInterface
        ) -> Bool {
            ServedDestination.all(of: listener, on: interface).map(\.address)
                .contains { $0 == IPAddress(high: address.high, low: address.low) }
        }

        /// Whether wildcard sockets of this host receive datagrams to the address.
        private static func isOwn(_ address: IPAddress, _ netlink: inout Netlink) -> Bool {
            do throws(NetlinkError) {
                guard let route = try netlink.route(to: address) else { return false }
                return [.local, .anycast, .broadcast, .multicast].contains(route.kind)
            } catch {
                return true
            }
        }
    }
#else
    /// A build without kernel modes has no netlink to ask.
    enum Unserved {
        static func reasons(
            _ destination: Endpoint, among listeners: [Listener]
        ) -> [String: String] { [:] }
    }
#endif
