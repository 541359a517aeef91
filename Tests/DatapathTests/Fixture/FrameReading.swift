// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// How a host reads a frame with UDP in it, computed byte by byte from the RFCs and from the limits that
/// lb/packet.h states. It shares no code with the programs, so that tests can check their verdicts against it.
struct FrameReading {
    enum Kind { case datagram, firstFragment, laterFragment }

    private(set) var kind = Kind.datagram
    private(set) var source = Endpoint(IPAddress(v4: 0), port: 0)
    private(set) var destination = Endpoint(IPAddress(v4: 0), port: 0)
    private(set) var timeToLive: UInt8 = 0
    private(set) var payload: ArraySlice<UInt8> = []
    private(set) var tags = 0
    /// Whether the datagram has a correct checksum or none; nil for fragments.
    private(set) var isSumRight: Bool?
    private var frame: [UInt8]
    /// Where the header that is read next begins, and the end of the packet.
    private var at = 0
    private var end = 0

    /// - Parameter mac: of the interface; nil: any.
    /// - Returns: nil when a host takes no UDP from the frame: it is malformed, in a VLAN, for another host or
    ///   something else.
    init?(_ frame: [UInt8], mac: [UInt8]?) {
        self.frame = frame
        guard frame.count >= 14, mac == nil || Array(frame[..<6]) == mac else { return nil }
        at = 12
        while [0x8100, 0x88a8].contains(word(at)), tags < 2 {
            guard at + 6 <= frame.count, word(at + 2) & 0xfff == 0 else { return nil }
            tags += 1
            at += 4
        }
        let type = word(at)
        at += 2
        switch type {
        case 0x0800: guard readV4() else { return nil }
        case 0x86dd: guard readV6() else { return nil }
        default: return nil
        }
    }

    private func word(_ place: Int) -> Int { Int(frame[place]) << 8 | Int(frame[place + 1]) }

    private func address(_ place: Int, _ bytes: Int) -> IPAddress {
        let words = frame[place..<place + bytes].reduce(into: (high: UInt64(0), low: UInt64(0))) {
            $0.high = $0.high << 8 | $0.low >> 56
            $0.low = $0.low << 8 | UInt64($1)
        }
        return bytes == 4
            ? IPAddress(v4: UInt32(words.low)) : IPAddress(high: words.high, low: words.low)
    }

    private mutating func takeAddresses(_ place: Int, _ bytes: Int) -> Bool {
        source = Endpoint(address(place, bytes), port: 0)
        destination = Endpoint(address(place + bytes, bytes), port: 0)
        return ![source, destination].contains { Self.isMartian($0.address, bytes) }
    }

    private static func isMartian(_ address: IPAddress, _ bytes: Int) -> Bool {
        if bytes == 4 {
            let v4 = address.v4
            return v4 >> 24 == 0 || (224...239).contains(v4 >> 24) || v4 == UInt32.max
        }
        let isMapped = address.high == 0 && address.low >> 32 == 0xffff
        return address.high >> 56 == 0xff || address.high | address.low == 0 || isMapped
    }

    // MARK: IPv4 (RFC 791)

    private mutating func readV4() -> Bool {
        let ip = at
        guard ip + 20 <= frame.count, frame[ip] >> 4 == 4, frame[ip + 9] == 17 else { return false }
        let header = Int(frame[ip] & 15) * 4
        let total = word(ip + 2)
        guard header >= 20, total >= header, ip + total <= frame.count,
            takeAddresses(ip + 12, 4), takesOptions(ip + 20, ip + header),
            internetChecksum(Array(frame[ip..<ip + header])) == 0
        else { return false }
        timeToLive = frame[ip + 8]
        (at, end) = (ip + header, ip + total)
        let flags = word(ip + 6)
        return readUDP(offset: flags & 0x1fff, hasMore: flags & 0x2000 != 0)
    }

    /// At most eight options are read. No host accepts a source route (131, 137).
    private func takesOptions(_ first: Int, _ end: Int) -> Bool {
        var place = first
        for _ in 0..<8 {
            if place + 1 >= end || frame[place] == 0 { return true }
            let (type, length) = (frame[place], Int(frame[place + 1]))
            if type == 131 || type == 137 || (type != 1 && length < 2) { return false }
            place += type == 1 ? 1 : length
        }
        return first == end
    }

    // MARK: IPv6 (RFC 8200)

    private mutating func readV6() -> Bool {
        let ip = at
        guard ip + 40 <= frame.count, frame[ip] >> 4 == 6, takeAddresses(ip + 8, 16) else {
            return false
        }
        (at, end) = (ip + 40, ip + 40 + word(ip + 4))
        guard end <= frame.count else { return false }
        timeToLive = frame[ip + 7]
        var next = frame[ip + 6]
        var (offset, hasMore) = (0, false)
        for _ in 0..<6 where next != 17 && offset == 0 {
            // The limit for headers.
            guard at <= 134, at + 8 <= end else { return false }
            var bytes = 8
            switch next {
            case 44:
                offset = word(at + 2) >> 3
                hasMore = frame[at + 3] & 1 != 0
            case 43 where frame[at + 3] != 0: return false
            case 0, 43, 60: bytes = (Int(frame[at + 1]) + 1) * 8
            default: return false
            }
            next = frame[at]
            at += bytes
            guard at <= end else { return false }
        }
        return next == 17 && readUDP(offset: offset, hasMore: hasMore)
    }

    // MARK: UDP (RFC 768)

    private mutating func readUDP(offset: Int, hasMore: Bool) -> Bool {
        let isWhole = offset == 0 && !hasMore
        kind = isWhole ? .datagram : offset == 0 ? .firstFragment : .laterFragment
        guard kind != .laterFragment else { return true }
        guard at <= 134, at + 8 <= end else { return false }
        let length = word(at + 4)
        let isV6 = source.address.family == .v6
        guard length >= 8, !isWhole || at + length <= end, word(at + 2) != 0,
            !isV6 || word(at + 6) != 0
        else { return false }
        source = Endpoint(source.address, port: UInt16(word(at)))
        destination = Endpoint(destination.address, port: UInt16(word(at + 2)))
        guard isWhole else {
            payload = frame[(at + 8)..<end]
            return true
        }
        payload = frame[(at + 8)..<(at + length)]
        let pseudo = [source, destination].flatMap { endpoint in
            isV6
                ? bytes(endpoint.address.high) + bytes(endpoint.address.low)
                : bytes(endpoint.address.v4)
        }
        let sum = internetChecksum(
            pseudo + bytes(UInt32(length)) + [0, 0, 0, 17] + frame[at..<at + length])
        isSumRight = word(at + 6) == 0 || sum == 0
        return true
    }

    /// What the UDP header gives as the length of the payload.
    var statedBytes: Int { word(at + 4) - 8 }

    var isFromLoopback: Bool {
        source.address == IPAddress("::1")
            || (source.address.family == .v4 && source.address.v4 >> 24 == 127)
    }
}
