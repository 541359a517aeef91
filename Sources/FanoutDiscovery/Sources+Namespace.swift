// SPDX-License-Identifier: Apache-2.0

extension Sources {
    /// The namespace of services that name none: the pod's own in a cluster, else `default`. A pod stays in its
    /// namespace, so it is read once.
    public static let defaultNamespace = ClusterLocation.podNamespace() ?? "default"
}

extension Sources {
    /// Why no cluster can be asked, as far as the environment and the files that it leads to tell; nil: nothing is
    /// missing.
    public static func clusterFault(_ environment: (String) -> String?) -> String? {
        do throws(APIFailure) {
            try ClusterAccess.check(try ClusterLocation.find(environment))
            return nil
        } catch {
            return error.detail
        }
    }
}
