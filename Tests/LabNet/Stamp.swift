// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The first bytes of a payload: its flow and its sequence number. The rest is copied from fixed noise at an offset
/// that depends on both, so that any altered byte is detected.
public struct Stamp: Equatable, Sendable {
    public let flow: UInt32
    public let sequence: UInt64

    public static let bytes = 24
    static let magic: UInt32 = 0x5eed_f10e
    static let longest = 65_535

    public init(flow: UInt32, sequence: UInt64) {
        self.flow = flow
        self.sequence = sequence
    }

    /// A payload of `size` bytes, at least 24.
    public func payload(size: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { room, count in
            write(into: UnsafeMutableRawPointer(room.baseAddress!), size: size)
            count = size
        }
    }

    func write(into base: UnsafeMutableRawPointer, size: Int) {
        precondition(size >= Self.bytes && size <= Self.longest)
        base.storeBytes(of: Self.magic, as: UInt32.self)
        base.storeBytes(of: flow, toByteOffset: 4, as: UInt32.self)
        base.storeBytes(of: sequence, toByteOffset: 8, as: UInt64.self)
        base.storeBytes(of: UInt64(size) << 32 | UInt64(offset), toByteOffset: 16, as: UInt64.self)
        memcpy(base + Self.bytes, Self.noise + offset, size - Self.bytes)
    }

    /// The offset of the payload in the noise.
    private var offset: Int {
        Int((UInt64(flow) &* 0x9e37_79b9 &+ sequence &* 0x85eb_ca6b) & 0xffff)
    }

    enum Reading: Equatable {
        case stamp(Stamp)
        /// A stamp with damaged bytes.
        case damaged
        /// A payload without a stamp.
        case foreign
    }

    static func read(_ base: UnsafeRawPointer, size: Int) -> Reading {
        guard size >= bytes, base.loadUnaligned(as: UInt32.self) == magic else { return .foreign }
        let stamp = Stamp(
            flow: base.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
            sequence: base.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let facts = base.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        guard facts == UInt64(size) << 32 | UInt64(stamp.offset),
            memcmp(base + bytes, noise + stamp.offset, size - bytes) == 0
        else { return .damaged }
        return .stamp(stamp)
    }

    /// 128 KiB that do not repeat; never freed, never changed.
    nonisolated(unsafe) private static let noise: UnsafeMutableRawPointer = {
        let size = 1 << 17
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        var state: UInt64 = 0x2545_f491_4f6c_dd1d
        for offset in stride(from: 0, to: size, by: 8) {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            bytes.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
        }
        return bytes
    }()
}
