// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `listeners[].file`: a file in which the receivers stand.
public struct FileConfiguration: Equatable, Sendable {
    /// 1...512 bytes; relative to where the daemon works.
    public var path: String
    /// Of receivers without a port of their own, 1...65535; nil: each must have one.
    public var port: UInt16?

    public init(path: String, port: UInt16? = nil) {
        self.path = path
        self.port = port
    }

    /// The same as a FanoutCore value.
    public var discovery: ListenerDiscovery {
        ListenerDiscovery(receivers: .file(path: path, port: port), port: .any)
    }
}
