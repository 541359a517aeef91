// SPDX-License-Identifier: Apache-2.0

/// A name that stands for receivers.
public struct DNSQuery: Hashable, Sendable, CustomStringConvertible {
    /// Whole, whether or not there is a dot at its end: no search domain is appended.
    public var name: String
    /// The port of every address of the name (A, AAAA); nil: the name has SRV records, which tell hosts,
    /// ports and weights.
    public var port: UInt16?
    /// Who is asked; nil: the servers of resolv.conf(5).
    public var server: Endpoint?

    public init(name: String, port: UInt16? = nil, server: Endpoint? = nil) {
        self.name = name
        self.port = port
        self.server = server
    }

    public var description: String {
        name + (port.map { ":\($0)" } ?? "") + (server.map { "@\($0)" } ?? "")
    }
}
