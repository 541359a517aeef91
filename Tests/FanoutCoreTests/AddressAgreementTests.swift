// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import GoldenVectors
import Glibc
import Testing
import Tiers

/// Compares our address parser and printer with those of the C library.
@Suite("IP addresses agree with the C library", .tags(.unit))
struct AddressAgreementTests {
    @Test("what is printed reads back as the same address", arguments: 0..<4)
    func roundTrip(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<5_000 {
            let address = random.address()
            #expect(IPAddress(address.description) == address)
            let endpoint = random.endpoint()
            #expect(try Endpoint(parsing: endpoint.description) == endpoint)
            let zoned = IPAddress(high: 0xfe80 << 48, low: random.next(), zone: "eth\(seed)")
            #expect(IPAddress(zoned.description) == zoned)
        }
    }

    @Test("inet_ntop prints the same text", arguments: 0..<4)
    func printing(seed: UInt64) {
        var random = SplitMix64(seed: 100 + seed)
        for _ in 0..<5_000 {
            let address = random.address()
            // glibc writes ::/96 with an IPv4 tail, which RFC 5952 section 5 leaves to known prefixes.
            if address.high == 0, address.low >> 32 == 0 { continue }
            #expect(address.description == printedByLibrary(address))
        }
    }

    @Test("inet_pton accepts the same texts and reads the same bits", arguments: 0..<8)
    func parsing(seed: UInt64) {
        var random = SplitMix64(seed: 200 + seed)
        var accepted = 0
        for _ in 0..<5_000 {
            var text = spelling(of: random.address(), &random)
            for _ in 0..<random.next() % 4 { mutate(&text, &random) }
            let ours = IPAddress(text)
            #expect(ours == readByLibrary(text), "'\(text)'")
            accepted += ours == nil ? 0 : 1
        }
        // Both outcomes must occur often.
        #expect((1_000...4_500).contains(accepted))
    }

    /// One of the many ways to write an address.
    private func spelling(of address: IPAddress, _ random: inout SplitMix64) -> String {
        let groups = [address.high, address.low].flatMap { word in
            [48, 32, 16, 0].map { word >> UInt64($0) & 0xffff }
        }
        switch random.next() % 4 {
        case 0: return groups.map { String($0, radix: 16) }.joined(separator: ":")
        case 1:
            return groups.map {
                let digits = String($0, radix: 16, uppercase: true)
                return String(repeating: "0", count: 4 - digits.count) + digits
            }.joined(separator: ":")
        case 2:
            let front = groups[..<6].map { String($0, radix: 16) }.joined(separator: ":")
            return "\(front):\(IPAddress(v4: UInt32(truncatingIfNeeded: address.low)))"
        default: return address.description
        }
    }

    private func mutate(_ text: inout String, _ random: inout SplitMix64) {
        let alphabet = Array("0123456789abcdefABCDEF::::....gx+- ")
        var characters = Array(text)
        let place = characters.isEmpty ? 0 : Int(random.next() % UInt64(characters.count))
        let letter = alphabet[Int(random.next() % UInt64(alphabet.count))]
        switch random.next() % 4 {
        case 0: characters.insert(letter, at: place)
        case 1 where !characters.isEmpty: characters.remove(at: place)
        case 2 where !characters.isEmpty: characters[place] = letter
        default: characters.swapAt(place, characters.count - 1)
        }
        text = String(characters)
    }

    private func bytes(_ address: IPAddress) -> [UInt8] {
        [address.high, address.low].flatMap { word in
            stride(from: 56, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: word >> UInt64($0))
            }
        }
    }

    private func printedByLibrary(_ address: IPAddress) -> String? {
        let whole = bytes(address)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let size = socklen_t(text.count)
        let printed =
            address.family == .v4
            ? inet_ntop(AF_INET, Array(whole[12...]), &text, size)
            : inet_ntop(AF_INET6, whole, &text, size)
        return printed == nil
            ? nil : String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
    }

    private func readByLibrary(_ text: String) -> IPAddress? {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return IPAddress(v4: UInt32(bigEndian: v4.s_addr)) }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        return withUnsafeBytes(of: v6) { raw in
            IPAddress(
                high: UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}
