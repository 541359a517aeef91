// SPDX-License-Identifier: Apache-2.0

/// A 48-bit link-layer address (IEEE 802).
public struct MACAddress: Hashable, Sendable, CustomStringConvertible {
    /// 6, in the order of transmission.
    public let bytes: [UInt8]

    /// - Parameter bytes: nil comes of any other count than 6.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 6 else { return nil }
        self.bytes = bytes
    }

    /// Six pairs of hexadecimal digits: `02:00:00:00:00:0a`.
    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}
