// SPDX-License-Identifier: Apache-2.0

/// A datagram as it was received.
public struct Datagram: Hashable, Sendable {
    /// The payload; cut when ``isTruncated``.
    public let bytes: [UInt8]
    /// Who sent it.
    public let source: Endpoint
    /// Whether the datagram was longer than the room for it.
    public let isTruncated: Bool

    public init(bytes: [UInt8], source: Endpoint, isTruncated: Bool = false) {
        self.bytes = bytes
        self.source = source
        self.isTruncated = isTruncated
    }
}
