// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// A flow and its keys, computed by `golden.py`, which shares no code with the C header.
///
/// The vectors are the contract between the modes: userspace, TC, XDP and AF_XDP compute the same keys, so a source
/// gets the same receiver in each. They fail when the C header changes; then LB_ABI_VERSION must rise too.
public struct GoldenVector: Sendable, CustomStringConvertible {
    public let seed: UInt64
    public let source: String
    public let destination: String
    /// The key of `balance: source_ip`.
    public let sourceIP: UInt32
    /// The key of `balance: four_tuple`.
    public let fourTuple: UInt32

    public var description: String { "\(source) to \(destination), seed \(seed)" }
}
