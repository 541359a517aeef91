// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// The queues of an interface, as ethtool(8) `-l` shows them.
public struct InterfaceQueues: Equatable, Sendable {
    /// In use to receive.
    public let receive: Int
    /// Whether the driver counts queues in pairs; that of a veth counts each direction by itself.
    public let areCombined: Bool

    public init(receive: Int, areCombined: Bool) {
        self.receive = receive
        self.areCombined = areCombined
    }

    /// Asks the driver.
    ///
    /// - Parameter name: of an interface in the calling thread's network.
    /// - Returns: nil when the driver does not say, or there is no such interface.
    public init?(of name: String) {
        var (receive, transmit): (UInt32, UInt32) = (0, 0)
        // SAFETY: the call reads the name and writes both numbers before it returns.
        guard unsafe cnet_queues(name, &receive, &transmit) == 0 else { return nil }
        self.receive = Int(receive)
        areCombined = unsafe cnet_has_combined_queues(name) != 0
    }

    /// The command that sets another number of them.
    public func command(setting count: Int, of name: String) -> String {
        areCombined
            ? "ethtool -L \(name) combined \(count)"
            : "ethtool -L \(name) rx \(count) tx \(count)"
    }
}
