// SPDX-License-Identifier: Apache-2.0

/// Where a listener's receivers come from when they do not stand in its configuration.
public struct ListenerDiscovery: Hashable, Sendable {
    /// Who the receivers are.
    public var receivers: DiscoverySubject
    /// Which port of a receiver is meant.
    public var port: ReceiverPort
    /// Whose addresses the listener serves besides its own; nil: nobody's.
    public var addresses: DiscoverySubject?

    public init(
        receivers: DiscoverySubject, port: ReceiverPort, addresses: DiscoverySubject? = nil
    ) {
        self.receivers = receivers
        self.port = port
        self.addresses = addresses
    }

    /// Everything that has to be looked up for it.
    public var subjects: [DiscoverySubject] { [receivers] + (addresses.map { [$0] } ?? []) }
}

/// Which of an endpoint's UDP ports receives.
public enum ReceiverPort: Hashable, Sendable {
    /// The port of this number; 1...65535. An endpoint that declares no ports at all is taken to have
    /// it.
    case number(UInt16)
    /// The port of this name.
    case name(String)
    /// Every port that the source gives.
    case any

    /// The numbers of the ports that are meant.
    func numbers(among ports: [DiscoveredPort]) -> [UInt16] {
        switch self {
        case .number(let number):
            ports.isEmpty || ports.contains { $0.number == number } ? [number] : []
        case .name(let name): ports.filter { $0.name == name }.map(\.number)
        case .any: ports.map(\.number)
        }
    }
}
