// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
package import FanoutCore
package import Logging

/// A data plane with programs at the hooks of interfaces. It follows the network: the kernel reports changes of
/// interfaces, addresses, routes and neighbours, and the plane reads them again and applies the differences.
package protocol KernelPlane: DataPlane, Actor {
    var state: KernelPlaneState { get }
    var attachedHooks: [PinnedHook] { get }
    /// Whether packets of listeners reach the plane.
    var isServing: Bool { get }

    /// Adds the data to a view that only this plane needs.
    func complete(_ network: inout NetworkView, _ netlink: inout Netlink) throws(NetlinkError)
    /// Checks that there is room for the listeners. Changes nothing.
    func checkRoom(for listeners: [Listener], on network: NetworkView) throws(PlaneError)
    /// Makes programs, maps and hooks serve other listeners; on failure all stays as it was.
    func serve(_ next: [Listener], on network: NetworkView) throws(PlaneError)
    /// Called when the listeners are served.
    func didServe(_ network: NetworkView)
    func logInitialized()

    /// Called for each change of the network, before it is applied.
    func networkChanged()
    /// Called every two seconds, for changes without an event.
    func tick()

    func counters() -> [ListenerCounters]
    /// Detaches the programs. Their counters are final when it returns.
    func detach()
    /// Hands the packets over to another process.
    func release()
    /// Called when the handover has failed.
    func rejoin() throws(PlaneError)
    /// Removes the listeners and their counters.
    func forget()
}

/// The state that all kernel planes have.
package final class KernelPlaneState {
    package let logger: Logger
    /// The paths to receivers, which all planes of a daemon share.
    private let memory: PathMemory
    private let needs: NetworkNeeds
    package fileprivate(set) var listeners: [Listener] = []
    /// The listeners and the network that the active tables were made for.
    package fileprivate(set) var network: NetworkView?
    package var netlink: Netlink?
    package var reach: ReachLog?
    fileprivate var anticipated: Anticipated<NetworkView>?
    fileprivate var watch: NetworkWatch?
    fileprivate var clock: Task<Void, Never>?

    /// What a plane reads besides its listeners' interfaces and the paths to its receivers.
    package struct NetworkNeeds: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// The addresses of every interface.
        package static let allAddresses = NetworkNeeds(rawValue: 1)
        /// The policy rules (ip-rule(8)).
        package static let rules = NetworkNeeds(rawValue: 2)
        /// The XDP features of drivers.
        package static let features = NetworkNeeds(rawValue: 4)
        /// Routes to other hosts than receivers.
        package static let routes = NetworkNeeds(rawValue: 8)
    }

    package init(
        logger: Logger, memory: PathMemory, needs: NetworkNeeds, reach: ReachLog? = nil
    ) {
        self.logger = logger
        self.memory = memory
        self.needs = needs
        self.reach = reach
    }

    package var isFollowing: Bool { watch != nil }

    /// Makes the kernel probe these neighbours.
    package func use(_ hops: some Sequence<LinkLayer.Hop>) {
        if netlink != nil { LinkLayer.use(hops, &netlink!) }
    }

    fileprivate func view(
        of listeners: [Listener], known: [String: UInt32], since: ContinuousClock.Instant
    ) throws(NetlinkError) -> NetworkView {
        if netlink == nil { netlink = try Netlink() }
        return try NetworkView.ask(
            &netlink!,
            names: needs.contains(.allAddresses) ? nil : Set(listeners.compactMap(\.interface)),
            known: known,
            receivers: Set(listeners.flatMap { $0.downstreams.map(\.endpoint.address) }),
            mindsRules: needs.contains(.rules), memory: memory, since: since)
    }

    fileprivate func follow(
        _ follow: @escaping @Sendable (ContinuousClock.Instant, NetworkChange) async -> Bool,
        tick: @escaping @Sendable () async -> Bool
    ) throws(PlaneError) {
        guard watch == nil else { return }
        watch = try NetworkWatch(
            mindsFeatures: needs.contains(.features), keepsRoutes: needs.contains(.routes),
            follow: follow)
        clock = Task {
            while (try? await Task.sleep(for: .seconds(2))) != nil, await tick() {}
        }
    }

    fileprivate func unfollow() {
        watch?.stop()
        watch = nil
        clock?.cancel()
        clock = nil
        netlink = nil
        anticipated = nil
    }
}

extension KernelPlane {
    package var logger: Logger { state.logger }
    package var listeners: [Listener] { state.listeners }
    package var network: NetworkView? { state.network }
    /// Whether the plane has read the network for a coming change.
    package var hasAnticipated: Bool { state.anticipated != nil }

    package func complete(_: inout NetworkView, _: inout Netlink) throws(NetlinkError) {}
    package func checkRoom(for _: [Listener], on _: NetworkView) throws(PlaneError) {}
    package func networkChanged() {}
    package func rejoin() throws(PlaneError) {}

    // MARK: A change

    /// Asks for the paths to receivers.
    package func anticipate(_ change: Change) {
        guard !change.isEmpty, let watch = state.watch else { return }
        let next = change.applied(to: listeners)
        state.anticipated = (try? look(for: next, since: watch.recently)).map {
            Anticipated($0, for: next)
        }
    }

    package func check(_ change: Change) throws(PlaneError) {
        let next = change.applied(to: listeners)
        let network = try look(for: next, since: .now)
        try network.checkInterfaces(of: change)
        try checkRoom(for: next, on: network)
    }

    package func apply(_ change: Change) throws(PlaneError) {
        try follow()
        let next = change.applied(to: listeners)
        let seen = state.anticipated?.seen(for: next)
        state.anticipated = nil
        let recently = state.watch?.recently ?? .now
        let network = if let seen { seen } else { try look(for: next, since: recently) }
        try network.checkInterfaces(of: change)
        let isFirst = !isServing
        try apply(next, on: network)
        log(change)
        if isFirst, isServing { logInitialized() }
    }

    /// Serves these listeners on this network; on failure all stays as it was.
    package func apply(_ next: [Listener], on network: NetworkView) throws(PlaneError) {
        guard !next.isEmpty else {
            detach()
            end()
            return
        }
        try serve(next, on: network)
        state.listeners = next
        state.network = network
        state.watch?.looked(at: network)
        state.reach?.log(next, on: network)
        didServe(network)
    }

    private func log(_ change: Change) {
        for listener in change.added + change.replaced.map(\.to) where Self.mode != .afXDP {
            logger.info(
                "registered listener in eBPF map",
                metadata: [
                    "listener": "\(listener.name)", "bind": "\(listener.place)",
                    "interface": "\(listener.interface ?? "")",
                    "balance": "\(listener.balance.rawValue)",
                    "downstreams": "\(listener.downstreams.count)",
                ])
        }
        for pair in change.retargeted {
            logger.info(
                "updated \(Self.mode.rawValue) downstream set",
                metadata: [
                    "listener": "\(pair.to.name)", "downstreams": "\(pair.to.downstreams.count)",
                ])
        }
    }

    package func attachments() -> [Attachment] {
        attachedHooks.map { $0.attachment(Self.mode) }.sorted { $0.interface < $1.interface }
    }

    package func obstructions() -> [Obstruction] {
        state.reach?.obstructions(of: listeners, on: network) ?? []
    }

    // MARK: The end

    package func stop() -> [ListenerCounters] {
        state.unfollow()
        detach()
        let last: [ListenerCounters] = counters()
        end()
        return last
    }

    package func relinquish() {
        state.unfollow()
        release()
    }

    package func reclaim() throws(PlaneError) {
        guard !listeners.isEmpty else { return }
        try follow()
        try rejoin()
        try apply(listeners, on: look(for: listeners, since: .now))
    }

    private func end() {
        state.network = nil
        state.listeners = []
        state.reach?.forget()
        forget()
    }

    // MARK: The network

    /// Reads the network for these listeners.
    ///
    /// - Parameter since: the paths to receivers must not be older.
    package func look(
        for listeners: [Listener], since: ContinuousClock.Instant
    ) throws(PlaneError) -> NetworkView {
        let known = Dictionary(
            attachedHooks.map { ($0.interface.name, $0.interface.index) }
        ) { first, _ in first }
        do throws(NetlinkError) {
            var view = try state.view(of: listeners, known: known, since: since)
            try complete(&view, &state.netlink!)
            return view
        } catch {
            throw PlaneError(looking: error)
        }
    }

    private func follow() throws(PlaneError) {
        try state.follow { [weak self] since, change in
            await self?.refresh(since: since, change) ?? true
        } tick: { [weak self] in
            await self?.tick()
            return self != nil
        }
    }

    /// Reads the network and applies the differences.
    ///
    /// - Parameters:
    ///   - since: when the change occurred.
    ///   - isForced: whether to apply an unchanged network again.
    /// - Returns: false when that failed; then all stays as it was.
    @discardableResult
    package func refresh(
        since: ContinuousClock.Instant = .now, _ change: NetworkChange = .network,
        isForced: Bool = false
    ) -> Bool {
        if change == .network { state.anticipated = nil }
        // An event may still arrive after the handover to another process.
        guard state.isFollowing, !listeners.isEmpty else { return true }
        networkChanged()
        guard change == .network else { return true }
        do throws(PlaneError) {
            let now = try look(for: listeners, since: since)
            guard now != network || isForced else { return true }
            logInterfaces(now)
            try apply(listeners, on: now)
            return true
        } catch {
            logger.error("the network change is not applied", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Logs changes of the interfaces that have a program.
    private func logInterfaces(_ now: NetworkView) {
        for hook in attachedHooks {
            let name = hook.interface.name
            let fields: Logger.Metadata = [
                "interface": "\(name)", "ifindex": "\(hook.interface.index)",
            ]
            guard let after = now.interface(named: name) else {
                logger.warning(
                    "interface is gone, its listeners wait for it to come back", metadata: fields)
                continue
            }
            guard after.index == hook.interface.index,
                let before = network?.interface(named: name), before.index == after.index
            else { continue }
            if before.nameNow != after.nameNow {
                logger.warning(
                    "interface was renamed, its listeners stay with it until the next start",
                    metadata: fields.merging(["now": "\(after.nameNow)"]) { $1 })
            }
            if before.isUp, !after.isUp {
                logger.warning("interface is down, nothing comes in by it", metadata: fields)
            } else if !before.isUp, after.isUp {
                logger.info("interface is up again", metadata: fields)
            }
        }
    }
}
