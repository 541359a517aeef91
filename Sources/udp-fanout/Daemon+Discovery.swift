// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutControlSocket
internal import FanoutCore
internal import FanoutDiscovery
internal import LinuxNet
internal import Logging

extension Daemon {
    /// How long a start or a reload waits for the first receivers of a source that it brings: a listener whose
    /// source changes, and one for which kernel programs of a killed daemon forward or datagrams wait in
    /// sockets that were passed on, does not stand there without any.
    private static let settling = Duration.seconds(2)

    static func discovery(_ logger: Logger) -> DiscoveryMonitor {
        let sources = Sources(logger: logger) { Environment[$0] }
        return DiscoveryMonitor(logger: logger, hostAddresses: HostAddresses.all) {
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
    /// - Parameter former: what is looked up besides, as long as it may stay in force. Its receivers stay until
    ///   the sources that are new have answered.
    /// - Returns: what is worth a word of sources that have not.
    @discardableResult
    func discover(
        _ wanted: Configuration, besides previous: Configuration? = nil
    ) async -> [String] {
        guard let previous else {
            await discovery.follow([wanted.state])
            return []
        }
        await discovery.follow([previous.state, wanted.state])
        return await discovery.settle(wanted.state, after: previous.state, within: Self.settling)
    }

    /// The same for a start, with what the old process has kept.
    func discoverAtStart() async {
        let state = configuration.state
        await discovery.follow([state], after: remembered(state))
    }

    /// Waits for a start until the sources of a configuration have said who receives.
    func settleDiscovery(_ wanted: Configuration) async {
        await discovery.settleStart(wanted.state, within: Self.settling)
    }

    /// Leads health checks and data planes to the receivers that are found now.
    ///
    /// - Returns: whether they followed; everything is as it was otherwise.
    func discoveryChanged() async -> Bool {
        await enqueue { await $0.followDiscovery() }
        return isDiscoveryFollowed
    }

    private func followDiscovery() async {
        guard newProcess == nil else {
            isDiscoveryFollowed = false
            return
        }
        do {
            try await probe(configuration)
            ThisProcess.keepReserve(true)
            defer { ThisProcess.keepReserve(false) }
            log(try await reconciler.followDiscovery())
            isDiscoveryFollowed = true
        } catch {
            if error is PlaneError { await rollBackProbes() }
            logger.error("receivers that were found are not used", metadata: ["error": "\(error)"])
            isDiscoveryFollowed = false
        }
    }

    /// One line for each listener whose receivers are others.
    private func log(_ change: Change) {
        for pair in change.retargeted + change.replaced {
            guard let source = pair.to.discovery?.receivers else { continue }
            let (before, after) = (Set(pair.from.downstreams), Set(pair.to.downstreams))
            logger.info(
                "\(pair.to.mode.rawValue) \(source.kind) membership updated",
                metadata: [
                    "listener": "\(pair.to.name)", "source": "\(source)",
                    "downstreams": "\(after.count)",
                    "ready": "\(pair.to.downstreams.count(where: \.isReady))",
                    "added": "\(after.subtracting(before).count)",
                    "removed": "\(before.subtracting(after).count)",
                ])
        }
    }

    /// nil when no listener looks its receivers up.
    var discoveryReport: DiscoveryReport? {
        get async {
            let report = await discovery.report
            return report.sources.isEmpty ? nil : report
        }
    }
}

extension Configuration {
    /// The desired state, with the namespaces that are not written filled in.
    var state: DesiredState {
        var state = desiredState
        for index in state.listeners.indices {
            state.listeners[index].discovery?.settle(namespace: Sources.defaultNamespace)
        }
        return state
    }
}

extension ListenerDiscovery {
    fileprivate mutating func settle(namespace: String) {
        receivers.settle(namespace: namespace)
        addresses?.settle(namespace: namespace)
    }
}

extension DiscoverySubject {
    fileprivate mutating func settle(namespace: String) {
        switch self {
        case .endpointSlices(let name):
            self = .endpointSlices(
                ServiceName(namespace: name.namespace ?? namespace, service: name.service))
        case .loadBalancer(let name):
            self = .loadBalancer(
                ServiceName(namespace: name.namespace ?? namespace, service: name.service))
        case .file, .dns, .fixed: break
        }
    }

    /// What log messages call its kind.
    fileprivate var kind: String {
        switch self {
        case .endpointSlices, .loadBalancer: "k8s"
        case .file: "file"
        case .dns: "dns"
        case .fixed: "fixed"
        }
    }
}
