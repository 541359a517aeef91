// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// Hosts on this host's own links that are asked for their hardware address in vain. What is sent to them
/// is lost, though every send succeeds; the kernel says so after three seconds, in which a probe that
/// takes silence for life may have been over more than once.
///
/// IPv4 alone: the kernel shows everybody its ARP table (proc(5), /proc/net/arp), and that of IPv6 by
/// netlink.
struct SilentNeighbours {
    private var addresses: Set<IPAddress> = []
    private var lookedAt: Int64?
    /// For how long one look at the table does, nanoseconds.
    private static let period: Int64 = 500_000_000

    /// - Parameter now: of `MonotonicClock`.
    mutating func contains(_ address: IPAddress, _ now: Int64) -> Bool {
        guard address.family == .v4 else { return false }
        if lookedAt.map({ now - $0 >= Self.period }) ?? true {
            lookedAt = now
            // Of the thread's own network: the process may have threads in several.
            let table = try? SmallFile.bytes(of: "/proc/thread-self/net/arp")
            addresses = Self.silent(String(decoding: table ?? [], as: UTF8.self))
        }
        return addresses.contains(address)
    }

    /// The addresses of a table that have no flags (arp(7)).
    static func silent(_ table: String) -> Set<IPAddress> {
        Set(
            table.split(separator: "\n").dropFirst().compactMap { line in
                let words = line.split(separator: " ")
                return words.count > 2 && words[2] == "0x0" ? IPAddress(words[0]) : nil
            })
    }
}
