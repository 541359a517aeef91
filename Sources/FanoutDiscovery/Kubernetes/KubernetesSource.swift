// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Receivers or addresses of a service, from the Kubernetes API.
struct KubernetesSource<Object: WatchedObject>: DiscoverySource {
    private let watch: ListWatch<Object>
    private let merged: @Sendable ([Object]) -> DiscoveredSet

    init(_ watch: ListWatch<Object>, merged: @escaping @Sendable ([Object]) -> DiscoveredSet) {
        self.watch = watch
        self.merged = merged
    }

    /// A service with many endpoints has many slices, which change one after another: changes within this time of
    /// each other are published together.
    private static var quiet: Duration { .milliseconds(4) }
    /// The maximum delay caused by that.
    private static var patience: Duration { .milliseconds(25) }

    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async {
        let burst = Burst<[Object]>()
        await withTaskGroup { group in
            group.addTask { await watch.run { burst.put($0, isEnd: $0.count <= 1) } }
            await burst.ends(after: Self.quiet, within: Self.patience) { objects in
                let set = merged(objects)
                guard !Task.isCancelled else { return }
                publish(set)
            }
        }
    }

    var status: SourceStatus { watch.tally.status }
}
