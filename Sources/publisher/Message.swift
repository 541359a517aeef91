// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The payload: `Hello World %d!`, padded with spaces if a size is asked for.
enum Message {
    static let prefix: StaticString = "Hello World "

    /// Digits that a number may have: those of the largest `N`.
    static let digitsMax = 19

    static func text(_ number: UInt64) -> String { "\(prefix)\(number)!" }

    /// Bytes that hold every message of a run of `total` datagrams; 0 = for ever.
    static func bytesNeeded(total: UInt64) -> Int {
        let digits = total == 0 ? digitsMax : String(total - 1).utf8.count
        return prefix.utf8CodeUnitCount + digits + 1
    }

    /// The largest payload: an IP datagram of 65535 bytes less the headers of IP (RFC 791, RFC 8200)
    /// and of UDP (RFC 768).
    static func bytesMax(_ family: IPAddress.Family) -> Int {
        family == .v4 ? 65_535 - 20 - 8 : 65_535 - 40 - 8
    }
}
