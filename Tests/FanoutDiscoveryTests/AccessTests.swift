// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    @Suite("The way to an API server")
    struct AccessTests {}
}

extension DiscoveryTests.AccessTests {
    private func stage(token: String? = nil, asksForCertificate: Bool = false) throws
        -> ClusterStage
    {
        let stage = try ClusterStage(token: token, asksForCertificate: asksForCertificate)
        try stage.cluster.put(Slice("s-1", [Slice.Endpoint("10.0.0.1")]))
        return stage
    }

    @Test("the kubeconfig's current context leads to server, authority and token")
    func kubeconfig() async throws {
        let stage = try stage(token: "sesame")
        let follower = try stage.follow(try stage.sources(user: "token: sesame"))
        try await follower.shows("10.0.0.1")
        #expect(stage.cluster.requests.allSatisfy { $0.authorization == "Bearer sesame" })
    }

    @Test("a client certificate replaces a token, as a file or as data")
    func clientCertificate() async throws {
        let stage = try stage(asksForCertificate: true)
        let identity = stage.cluster.identity
        let (certificate, key) = (identity.clientCertificate, identity.clientKey)
        let byFile = "client-certificate: \(certificate), client-key: \(key)"
        let byData = """
            client-certificate-data: \(try Identity.base64(certificate)), \
            client-key-data: \(try Identity.base64(key))
            """
        for user in [byFile, byData] {
            let follower = try stage.follow(try stage.sources(user: user))
            try await follower.shows("10.0.0.1")
            await follower.stop()
        }
        let stranger = try stage.follow(try stage.sources())
        try await stranger.counts(error: "tls")
        #expect(stranger.sets.isEmpty)
    }

    @Test("a server that the authority does not vouch for is not talked to")
    func wrongAuthority() async throws {
        let stage = try stage()
        let text = try stage.cluster.kubeconfig()
        let other = try Identity()
        let path = try stage.folder.write(
            text.replacing(
                try Identity.base64(stage.cluster.identity.authority),
                with: try Identity.base64(other.authority)),
            to: "kubeconfig")
        let follower = try stage.follow(stage.sources { $0 == "KUBECONFIG" ? path : nil })
        try await follower.counts(error: "tls", times: 2)
        #expect(stage.cluster.requests.isEmpty)
        let message = "k8s discovery: TLS failure between us and the API server"
        #expect(stage.log.count(message) == 1)
        await follower.stop()

        let trusting = try stage.folder.write(
            text.replacing(
                "certificate-authority-data: ", with: "insecure-skip-tls-verify: true\n      #"),
            to: "trusting")
        let naive = try stage.follow(stage.sources { $0 == "KUBECONFIG" ? trusting : nil })
        try await naive.shows("10.0.0.1")
    }

    @Test("a certificate for another address is not accepted")
    func wrongName() async throws {
        let stage = try ClusterStage(identity: Identity(addresses: ["127.0.0.9"]))
        let follower = try stage.follow()
        try await follower.counts(error: "tls")
        #expect(stage.cluster.requests.isEmpty)
    }

    @Test("a pod finds server, authority and token where they are mounted")
    func pod() async throws {
        let stage = try stage(token: "one")
        let identity = stage.cluster.identity
        _ = try Shell.output("cp \(identity.authority) \(stage.folder.path("ca.crt"))")
        try stage.folder.write("one\n", to: "token")
        try stage.folder.write("trading\n", to: "namespace")
        let port = "\(stage.cluster.port)"
        let sources = stage.sources(podFolder: stage.folder.url.path) { name in
            ["KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port][name]
        }
        let follower = try stage.follow(sources)
        try await follower.shows("10.0.0.1")
        #expect(ClusterLocation.podNamespace(stage.folder.url.path) == "trading")
        #expect(ClusterLocation.podNamespace("/nowhere") == nil)
    }

    @Test("after a 401 the token is read again; the open watch goes on until it ends")
    func tokenExpires() async throws {
        let stage = try stage(token: "old")
        let path = try stage.folder.write("old", to: "token")
        let follower = try stage.follow(try stage.sources(user: "tokenFile: \(path)"))
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        stage.cluster.accept(["new"])
        try stage.cluster.put(Slice("s-1", [Slice.Endpoint("10.0.0.2")]))
        try await follower.shows("10.0.0.2")
        stage.cluster.endWatches()
        try await follower.counts(error: "401", times: 2)
        try stage.folder.replace("token", with: "new")
        try stage.cluster.put(Slice("s-1", [Slice.Endpoint("10.0.0.3")]))
        try await follower.shows("10.0.0.3")
        #expect(follower.addresses == ["10.0.0.3"])
    }

    @Test("a token that is renewed in time is taken up without a 401")
    func tokenRenewed() async throws {
        let stage = try stage(token: "old")
        let path = try stage.folder.write("old", to: "token")
        let sources = try stage.sources(
            user: "tokenFile: \(path)", rereading: .milliseconds(1))
        let follower = try stage.follow(sources)
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        try stage.folder.replace("token", with: "new")
        stage.cluster.accept(["new"])
        stage.cluster.endWatches()
        try stage.cluster.put(Slice("s-1", [Slice.Endpoint("10.0.0.2")]))
        try await follower.shows("10.0.0.2")
        #expect(follower.source.status.errors.isEmpty)
    }

    static let refusals: [(String, String)] = [
        ("", "the file is empty"),
        ("a: [", "this is not YAML"),
        ("current-context: x", "there is no context called 'x'"),
        ("contexts: []", "current-context is not set"),
    ]

    @Test("a kubeconfig that leads nowhere is named, with the reason", arguments: refusals)
    func bad(text: String, reason: String) async throws {
        let stage = try ClusterStage()
        let path = try stage.folder.write(text, to: "kubeconfig")
        let follower = try stage.follow(stage.sources { $0 == "KUBECONFIG" ? path : nil })
        try await follower.counts(error: "credentials")
        // The count comes before the log line.
        try await eventually("the log names \(path): \(reason)") {
            stage.log.lines.contains {
                $0.message.contains("credentials cannot be read")
                    && $0.fields["error"]?.hasPrefix("\(path): \(reason)") == true
            }
        }
    }

    @Test(
        "what identifies a user in ways that are not supported is refused",
        arguments: [
            "exec: {command: aws}", "username: x, password: y", "client-certificate-data: '!'",
            "client-certificate: a",
        ])
    func unsupported(user: String) async throws {
        let stage = try ClusterStage()
        let follower = try stage.follow(try stage.sources(user: user))
        try await follower.counts(error: "credentials")
    }

    @Test("without a cluster in sight that is what is said")
    func nowhere() async throws {
        let stage = try ClusterStage()
        let follower = try stage.follow(stage.sources { _ in nil })
        try await follower.counts(error: "credentials", times: 2)
        #expect(follower.sets.isEmpty)
    }
}
