// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutDiscovery
internal import LinuxNet
internal import Logging

// Discovery at a start and a reload.

extension Daemon {
    /// How long a start or a reload waits for the first receivers of its new sources. Otherwise a listener would
    /// briefly have no receivers when its source changes, when kernel programs of a killed daemon still forward, or
    /// when datagrams wait in sockets that were passed on.
    private static let settling = Duration.seconds(2)

    static func discovery(_ logger: Logger, _ signal: ChangeSignal) -> DiscoveryMonitor {
        let sources = Sources(logger: logger) { Environment[$0] }
        return DiscoveryMonitor(logger: logger, signal: signal, hostAddresses: HostAddresses.all) {
            sources.source(for: $0, lastKnown: $1)
        }
    }

    /// Keeps last-known receivers in a file beside the control socket, which belongs to one daemon only.
    func keepLastKnownReceivers() async {
        await discovery.remember(in: control.map { memory(beside: $0.path) })
    }

    private func memory(beside path: String) -> LastKnownFile {
        LastKnownFile(path: "\(path).receivers", logger: logger)
    }

    /// The last-known receivers of the old process; at a takeover its file is beside its control socket.
    private func remembered(_ state: DesiredState) -> DiscoveryView {
        var path = control?.path
        if inheritance.oldProcess != nil {
            path = configuration.control.socket ?? ControlPlace.own
        }
        return path.map { memory(beside: $0).recall(state) } ?? DiscoveryView()
    }

    /// Looks up the receivers of a configuration.
    ///
    /// - Parameter previous: the configuration that stays active if the change fails; its sources are followed too. Its
    ///   receivers stay until the new sources have answered.
    /// - Returns: messages about sources that have not answered.
    @discardableResult
    func discover(
        _ wanted: Configuration, besides previous: Configuration? = nil
    ) async -> [String] {
        guard let previous else {
            await discovery.follow([wanted.desiredState])
            return []
        }
        await discovery.follow([previous.desiredState, wanted.desiredState])
        return await discovery.settle(
            wanted.desiredState, after: previous.desiredState, within: Self.settling)
    }

    /// The same for a start, with the last-known receivers of the old process.
    func discoverAtStart() async {
        let state = configuration.desiredState
        await discovery.follow([state], after: remembered(state))
    }

    /// Waits at a start until the sources of a configuration have answered.
    func settleDiscovery(_ wanted: Configuration) async {
        await discovery.settleStart(wanted.desiredState, within: Self.settling)
    }
}
