// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

// Netlink headers and integers are in host order, addresses in network order (netlink(7)).

extension [UInt8] {
    /// The C structure or integer at `offset`; nil when that goes past the end.
    func read<Value: BitwiseCopyable>(_ type: Value.Type, at offset: Int = 0) -> Value? {
        guard offset >= 0, offset + MemoryLayout<Value>.size <= count else { return nil }
        // SAFETY: the range was checked above, and every pattern of bits is a value of the C
        // structures and integers that this module reads.
        return unsafe withUnsafeBytes {
            unsafe $0.loadUnaligned(fromByteOffset: offset, as: Value.self)
        }
    }

    /// The bytes of a C structure or integer.
    init(of value: some BitwiseCopyable) {
        // SAFETY: the value lives through the call, and the bytes are copied.
        self = unsafe Swift.withUnsafeBytes(of: value) { unsafe Array($0) }
    }
}

extension IPAddress {
    /// 4 or 16 bytes in network order; nil for any other count. No zone.
    init?(network bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4:
            self.init(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self.init(
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
        default:
            return nil
        }
    }

    /// 4 or 16 bytes in network order.
    var networkBytes: [UInt8] {
        switch family {
        case .v4: [UInt8](of: v4.bigEndian)
        case .v6: [UInt8](of: high.bigEndian) + [UInt8](of: low.bigEndian)
        }
    }
}
