// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// The address of an API server and the credentials for it.
struct ClusterLocation: Equatable, Sendable {
    /// Without a final slash.
    var server: String
    /// The certificate authority of the server; nil: those of the system.
    var authority: Material?
    var token: Material?
    var clientCertificate: Material?
    var clientKey: Material?
    /// Whether to skip verification of the server's certificate.
    var trustsAnyone = false

    /// Where the account of a pod is mounted.
    static let podFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

    /// The cluster of the environment: the file of `KUBECONFIG`, otherwise the cluster of this pod, otherwise the
    /// user's kubeconfig.
    static func find(
        _ environment: (String) -> String?, podFolder: String = podFolder
    ) throws(APIFailure) -> ClusterLocation {
        if let list = environment("KUBECONFIG"), !list.isEmpty {
            // kubectl merges several files, and the first has precedence; only the first existing one is used here.
            let paths = list.split(separator: ":").map(String.init)
            let path = paths.first { SmallFile.exists($0) } ?? paths.first ?? list
            return try Kubeconfig.location(path)
        }
        if let host = environment("KUBERNETES_SERVICE_HOST"), !host.isEmpty {
            return pod(host, environment("KUBERNETES_SERVICE_PORT") ?? "443", podFolder)
        }
        if let home = environment("HOME"), SmallFile.exists(home + "/.kube/config") {
            return try Kubeconfig.location(home + "/.kube/config")
        }
        throw APIFailure(
            .credentials,
            "this is no pod (KUBERNETES_SERVICE_HOST is not set), and there is neither KUBECONFIG nor "
                + "~/.kube/config")
    }

    private static func pod(_ host: String, _ port: String, _ folder: String) -> ClusterLocation {
        let name = host.contains(":") ? "[\(host)]" : host
        return ClusterLocation(
            server: "https://\(name):\(port)", authority: .file(folder + "/ca.crt"),
            token: .file(folder + "/token"))
    }

    /// The namespace of the pod that this is; nil when it is none.
    static func podNamespace(_ folder: String = podFolder) -> String? {
        guard let bytes = try? SmallFile.bytes(of: folder + "/namespace", limit: 1024) else {
            return nil
        }
        let name = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        return name.isEmpty ? nil : name
    }
}

/// A certificate, key or token, by location.
enum Material: Equatable, Sendable {
    /// Read again from time to time, since it is renewed there.
    case file(String)
    case bytes([UInt8])

    func read() throws(APIFailure) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path):
            do throws(SystemError) {
                return try SmallFile.bytes(of: path, limit: 1 << 20)
            } catch {
                throw APIFailure(.credentials, "\(error)")
            }
        }
    }
}
