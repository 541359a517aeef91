// SPDX-License-Identifier: Apache-2.0

/// The health of the receivers at one moment: an input of the desired state, beside the configuration.
public struct HealthView: Equatable, Sendable {
    /// Endpoints of unhealthy receivers; every other one counts as healthy.
    public var unhealthy: Set<Endpoint>
    /// See `HealthPolicy.minHealthyPercent`.
    public var minHealthyPercent: Int
    /// Endpoints of `unhealthy` that refuse datagrams (`RefusalTable`).
    public var refusing: Set<Endpoint>

    public init(
        unhealthy: Set<Endpoint> = [], minHealthyPercent: Int = 0, refusing: Set<Endpoint> = []
    ) {
        self.unhealthy = unhealthy
        self.refusing = refusing
        self.minHealthyPercent = minHealthyPercent
    }

    /// Whether all receivers of a listener are used, because too few are healthy or all of them refuse. Receivers
    /// of weight 0 get nothing either way and are not counted; nor are backups, but a healthy one takes over when no
    /// other receiver is healthy.
    public func opens(_ listener: Listener) -> Bool {
        let wanted = listener.downstreams.filter { $0.weight > 0 }
        if !wanted.isEmpty, wanted.allSatisfy({ refusing.contains($0.endpoint) }) { return true }
        let others = wanted.filter { !$0.isBackup }
        let counted = others.isEmpty ? wanted : others
        let healthy = counted.count { !unhealthy.contains($0.endpoint) }
        if healthy == 0, wanted.contains(where: { !unhealthy.contains($0.endpoint) }) {
            return false
        }
        return healthy < counted.count && healthy * 100 < minHealthyPercent * counted.count
    }
}

extension DesiredState {
    /// The state in which unhealthy receivers get no new traffic. They stay in their listeners, with their
    /// counters.
    public func applying(_ view: HealthView) -> DesiredState {
        guard !view.unhealthy.isEmpty else { return self }
        return DesiredState(
            listeners: listeners.map { listener in
                guard !view.opens(listener) else { return listener }
                var listener = listener
                for index in listener.downstreams.indices {
                    let endpoint = listener.downstreams[index].endpoint
                    listener.downstreams[index].isEnabled = !view.unhealthy.contains(endpoint)
                }
                return listener
            })
    }
}
