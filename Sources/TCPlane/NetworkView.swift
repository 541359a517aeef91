// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// The host's network as far as the plane looks at it, at one moment.
struct NetworkView: Equatable, Sendable {
    var interfaces: [HostInterface]
    /// The way to each receiver that was asked about.
    var paths: [IPAddress: ReceiverPath]

    func interface(named name: String?) -> HostInterface? {
        interfaces.first { $0.name == name }
    }

    /// The network as it is now, with the ways to these receivers.
    static func current(for receivers: Set<IPAddress>) throws(SystemError) -> NetworkView {
        let interfaces = try HostInterface.all()
        let own = Set(interfaces.flatMap(\.addresses))
        var paths: [IPAddress: ReceiverPath] = [:]
        for receiver in receivers {
            paths[receiver] = own.contains(receiver) || receiver.isLoopback ? .stack : .routes
        }
        return NetworkView(interfaces: interfaces, paths: paths)
    }
}
