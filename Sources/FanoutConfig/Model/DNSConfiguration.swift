// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `listeners[].dns`: a name that stands for the receivers.
public struct DNSConfiguration: Equatable, Sendable {
    /// In lower case, without a dot at its end.
    public var name: String
    /// Of every address of the name; nil: the name has SRV records.
    public var port: UInt16?
    /// Who is asked; nil: the servers of resolv.conf(5).
    public var server: Endpoint?

    public init(name: String, port: UInt16? = nil, server: Endpoint? = nil) {
        self.name = name
        self.port = port
        self.server = server
    }

    /// The same as a FanoutCore value.
    public var discovery: ListenerDiscovery {
        let query = DNSQuery(name: name, port: port, server: server)
        return ListenerDiscovery(receivers: .dns(query), port: .any)
    }
}
