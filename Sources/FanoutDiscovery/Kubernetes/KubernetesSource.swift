// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What a cluster's API says about a service.
struct KubernetesSource<Object: WatchedObject>: DiscoverySource {
    private let watch: ListWatch<Object>
    private let merged: @Sendable ([Object]) -> DiscoveredSet

    init(_ watch: ListWatch<Object>, merged: @escaping @Sendable ([Object]) -> DiscoveredSet) {
        self.watch = watch
        self.merged = merged
    }

    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async {
        await watch.run { objects in
            let set = merged(objects)
            guard !Task.isCancelled else { return }
            publish(set)
        }
    }

    var status: SourceStatus { watch.tally.status }
}
