// SPDX-License-Identifier: Apache-2.0

extension Sources {
    /// The namespace of services that name none: the pod's own in a cluster, else `default`.
    public static var defaultNamespace: String { ClusterLocation.podNamespace() ?? "default" }
}
