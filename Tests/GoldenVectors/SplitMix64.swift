// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// Random numbers that are the same on every run (Steele et al., OOPSLA 2014), so that a failure can be repeated from
/// its seed.
public struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }

    /// Random bits that are all ones or all zeros more often than fair ones: such groups are where address code goes
    /// wrong.
    public mutating func word() -> UInt64 {
        (0..<4).reduce(UInt64(0)) { word, _ in
            let group: UInt64 =
                switch next() % 8 {
                case 0...2: 0
                case 3: 0xffff
                case 4: next() % 16
                default: next() & 0xffff
                }
            return word << 16 | group
        }
    }

    public mutating func address() -> IPAddress {
        next() % 2 == 0
            ? IPAddress(v4: UInt32(truncatingIfNeeded: next()))
            : IPAddress(high: word(), low: word())
    }

    public mutating func endpoint() -> Endpoint {
        Endpoint(address(), port: UInt16.random(in: 1...UInt16.max, using: &self))
    }
}
