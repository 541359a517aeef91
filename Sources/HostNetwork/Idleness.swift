// SPDX-License-Identifier: Apache-2.0

package import FanoutCore

/// Why a listener serves nothing at this moment.
enum Idleness: Hashable, Sendable {
    case noInterface
    case isDown
    /// The interface has none of the addresses that the listener means.
    case noAddress

    /// nil when it serves something.
    init?(_ listener: Listener, on network: NetworkView) {
        guard let interface = network.interface(named: listener.interface) else {
            self = .noInterface
            return
        }
        if ServedDestination.all(of: listener, on: interface).isEmpty {
            self = .noAddress
        } else if !interface.isUp {
            self = .isDown
        } else {
            return nil
        }
    }

    func obstruction(of listener: Listener) -> Obstruction {
        let name = listener.interface ?? ""
        let (reason, remedy) =
            switch self {
            case .noInterface: ("interface \(name) is gone", "make it again, or write another one")
            case .isDown: ("interface \(name) is down", "ip link set \(name) up")
            case .noAddress: ("interface \(name) has no address", Self.addressRemedy)
            }
        return Obstruction(
            listener: listener.name, receivers: [], reason: reason, remedy: remedy)
    }

    static let addressRemedy = "write the address into bind or addresses, or give the interface one"
}

extension NetworkView {
    /// Listeners of a kernel mode that serve nothing.
    package func idle(_ listeners: [Listener]) -> [Obstruction] {
        listeners.compactMap { listener in
            Idleness(listener, on: self)?.obstruction(of: listener)
        }
    }
}
