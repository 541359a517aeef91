// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LinuxNet
internal import YAML

/// Reads kubeconfig files: clusters, users, and contexts that pair them
/// (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1).
enum Kubeconfig {
    /// The cluster and user of the file's current context.
    static func location(_ path: String) throws(APIFailure) -> ClusterLocation {
        let bytes = try Material.file(path).read()
        let document = YAMLDocument(bytes)
        if let fault = document.faults.first {
            let place = fault.line.map { " (line \($0))" } ?? ""
            throw APIFailure(
                .credentials, "\(path): \(fault.what)\(place); \(fault.remedy)")
        }
        guard let root = document.root else {
            throw APIFailure(.credentials, "\(path): the file is empty")
        }
        return try Reader(path: path, root: root).location()
    }

    private struct Reader {
        let path: String
        let root: YAMLNode

        func location() throws(APIFailure) -> ClusterLocation {
            guard let name = root.text("current-context"), !name.isEmpty else {
                throw refusal("current-context is not set")
            }
            let context = try item("contexts", name, "context")
            let cluster = try item("clusters", context.text("cluster") ?? "", "cluster")
            guard let server = cluster.text("server"), let url = Self.trimmed(server) else {
                throw refusal("the cluster's server is no http or https URL")
            }
            if cluster.text("proxy-url") != nil || cluster.text("tls-server-name") != nil {
                throw refusal("proxy-url and tls-server-name are not supported")
            }
            var location = ClusterLocation(server: url)
            location.authority = try material(cluster, "certificate-authority")
            location.trustsAnyone = cluster.text("insecure-skip-tls-verify") == "true"
            guard let user = context.text("user"), !user.isEmpty else { return location }
            try identify(&location, by: try item("users", user, "user"))
            return location
        }

        private func identify(_ location: inout ClusterLocation, by user: YAMLNode)
            throws(APIFailure)
        {
            if user["exec"] != nil || user["auth-provider"] != nil || user.text("username") != nil {
                throw refusal(
                    "exec, auth-provider and username are not supported; use a token or a client "
                        + "certificate")
            }
            location.clientCertificate = try material(user, "client-certificate")
            location.clientKey = try material(user, "client-key")
            guard (location.clientCertificate == nil) == (location.clientKey == nil) else {
                throw refusal("a client certificate and its key belong together")
            }
            // The file has precedence over the token (client-go, clientcmd).
            if let file = user.text("tokenFile") {
                location.token = .file(beside(file))
            } else if let token = user.text("token") {
                location.token = .bytes(Array(token.utf8))
            }
        }

        /// The mapping `key` of the list item of this name.
        private func item(
            _ list: String, _ name: String, _ key: String
        ) throws(APIFailure) -> YAMLNode {
            let found = root[list]?.items?.first { $0.text("name") == name }
            guard let node = found?[key], node.members != nil else {
                throw refusal("there is no \(key) called '\(name)'")
            }
            return node
        }

        /// `KEY-data` in base64, otherwise the path `KEY`, relative to the file's folder.
        private func material(_ node: YAMLNode, _ key: String) throws(APIFailure) -> Material? {
            if let text = node.text(key + "-data"), !text.isEmpty {
                guard let data = Data(base64Encoded: text.filter { !$0.isWhitespace }) else {
                    throw refusal("\(key)-data is not base64")
                }
                return .bytes(Array(data))
            }
            return node.text(key).map { .file(beside($0)) }
        }

        private func beside(_ file: String) -> String {
            if file.hasPrefix("/") { return file }
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            return folder + file
        }

        private func refusal(_ what: String) -> APIFailure {
            APIFailure(.credentials, "\(path): \(what)")
        }

        /// The URL without final slashes; nil if it is none.
        private static func trimmed(_ text: String) -> String? {
            guard text.hasPrefix("https://") || text.hasPrefix("http://") else { return nil }
            var text = text
            while text.hasSuffix("/") { text.removeLast() }
            return text
        }
    }
}

extension YAMLNode {
    /// The scalar of a key; nil if it is missing or null.
    fileprivate func text(_ key: String) -> String? {
        guard let node = self[key], !node.isNull else { return nil }
        return node.text
    }
}
