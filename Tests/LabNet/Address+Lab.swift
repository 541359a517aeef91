// SPDX-License-Identifier: Apache-2.0

import CNet
public import FanoutCore
import Glibc
import LinuxNet

extension IPAddress {
    public static let loopback = IPAddress(v4: 0x7f00_0001)
    public static let loopback6 = IPAddress(high: 0, low: 1)
    public static let any = IPAddress(v4: 0)
    public static let any6 = IPAddress(high: 0, low: 0)

    /// 127.0.0.0 + `number`; all of these are addresses of this host.
    public static func loopback(_ number: UInt32) -> IPAddress {
        IPAddress(v4: 0x7f00_0000 + number)
    }
}

extension Endpoint {
    /// An endpoint on `address` with a free UDP port. The port is below the kernel's ephemeral range, so that a
    /// sender's port does not take it in the meantime.
    public static func free(on address: IPAddress = .loopback) throws -> Endpoint {
        for _ in 0..<1000 {
            let endpoint = Endpoint(address, port: .random(in: 10_000...32_000))
            if try endpoint.isFree { return endpoint }
        }
        throw SystemError("find a free port on \(address)", code: EADDRINUSE)
    }

    private var isFree: Bool {
        get throws {
            let probe = try Socket(
                family: address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
            do {
                try probe.bind(to: self)
            } catch {
                if error.code == EADDRINUSE { return false }
                throw error
            }
            return true
        }
    }

    /// Reads a sockaddr_in or sockaddr_in6 from the kernel, without the zone.
    public init(native bytes: UnsafeRawPointer) {
        let port = UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        if Int32(bytes.load(as: sa_family_t.self)) == AF_INET {
            let word = bytes.load(fromByteOffset: 4, as: UInt32.self)
            self.init(IPAddress(v4: UInt32(bigEndian: word)), port: port)
        } else {
            let high = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let low = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            self.init(
                IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low)), port: port)
        }
    }
}
