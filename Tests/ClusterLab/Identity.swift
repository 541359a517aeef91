// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet

/// A certificate authority of the test's own, a server that it vouches for, and a client. Made by
/// openssl(1).
public final class Identity: Sendable {
    private let folder: ScratchFolder

    public var authority: String { folder.path("ca.crt") }
    public var serverCertificate: String { folder.path("server.crt") }
    public var serverKey: String { folder.path("server.key") }
    public var clientCertificate: String { folder.path("client.crt") }
    public var clientKey: String { folder.path("client.key") }

    /// - Parameter addresses: what the server's certificate is for.
    public init(addresses: [String] = ["127.0.0.1", "10.8.0.1"]) throws {
        folder = try ScratchFolder()
        let names = addresses.map { "IP:\($0)" }.joined(separator: ",")
        try folder.write("subjectAltName=\(names)\nextendedKeyUsage=serverAuth\n", to: "server.ext")
        try folder.write("extendedKeyUsage=clientAuth\n", to: "client.ext")
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout"
        try run("req -x509 \(key) PATH/ca.key -out PATH/ca.crt -subj /CN=authority -days 2")
        for name in ["server", "client"] {
            try run("req \(key) PATH/\(name).key -out PATH/\(name).csr -subj /CN=\(name)")
            try run(
                "x509 -req -in PATH/\(name).csr -CA PATH/ca.crt -CAkey PATH/ca.key -CAcreateserial "
                    + "-out PATH/\(name).crt -days 2 -extfile PATH/\(name).ext")
        }
    }

    private func run(_ arguments: String) throws {
        _ = try Shell.output("openssl " + arguments.replacing("PATH", with: folder.url.path))
    }

    /// The file in base64, as kubeconfig has it.
    public static func base64(_ path: String) throws -> String {
        try Data(contentsOf: URL(filePath: path)).base64EncodedString()
    }
}
