// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutDiscovery
internal import LinuxNet
internal import Logging

// Discovery at a start and a reload.

extension Daemon {
    /// How long a start or a reload waits for the first receivers of a source that it brings: a listener whose
    /// source changes, and one for which kernel programs of a killed daemon forward or datagrams wait in
    /// sockets that were passed on, does not stand there without any.
    private static let settling = Duration.seconds(2)

    static func discovery(_ logger: Logger, _ signal: ChangeSignal) -> DiscoveryMonitor {
        let sources = Sources(logger: logger) { Environment[$0] }
        return DiscoveryMonitor(logger: logger, signal: signal, hostAddresses: HostAddresses.all) {
            sources.source(for: $0, lastKnown: $1)
        }
    }

    /// Has what is found kept beside the control socket, which no two daemons have.
    func keepLastKnownReceivers() async {
        await discovery.remember(in: control.map { memory(beside: $0.path) })
    }

    private func memory(beside path: String) -> LastKnownFile {
        LastKnownFile(path: "\(path).receivers", logger: logger)
    }

    /// What the old process has kept; at a takeover its file is beside the socket that it is asked by.
    private func remembered(_ state: DesiredState) -> DiscoveryView {
        var path = control?.path
        if inheritance.oldProcess != nil {
            path = configuration.control.socket ?? ControlPlace.own
        }
        return path.map { memory(beside: $0).recall(state) } ?? DiscoveryView()
    }

    /// Has the receivers of a configuration looked up.
    ///
    /// - Parameter previous: the configuration that stays active if the change fails, followed as well. Its receivers
    ///   stay until the new sources have answered.
    /// - Returns: what is worth a word of sources that have not.
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

    /// The same for a start, with what the old process has kept.
    func discoverAtStart() async {
        let state = configuration.desiredState
        await discovery.follow([state], after: remembered(state))
    }

    /// Waits for a start until the sources of a configuration have said who receives.
    func settleDiscovery(_ wanted: Configuration) async {
        await discovery.settleStart(wanted.desiredState, within: Self.settling)
    }
}
