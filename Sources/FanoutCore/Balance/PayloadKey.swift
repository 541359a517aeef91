// SPDX-License-Identifier: Apache-2.0

public import CDatapath

/// The bytes of the UDP payload that `balance: payload` hashes. A datagram without them goes by its source address
/// (``Preset/ipfixDomain``, ``Preset/netflowSource``) or its four-tuple (all others).
public struct PayloadKey: Hashable, Sendable {
    /// The bytes of a protocol.
    public enum Preset: String, CaseIterable, Hashable, Sendable {
        /// IPFIX: the source address and the observation domain ID (RFC 7011, section 3.1).
        case ipfixDomain = "ipfix_domain"
        /// NetFlow: the source address and the source ID of v9, or the engine of v5.
        case netflowSource = "netflow_source"
        /// RADIUS: the identifier (RFC 2865, section 3).
        case radiusID = "radius_id"
        /// SIP: the first 64 bytes of the Call-ID, if it ends within the first 1024 bytes of the message.
        case sipCallID = "sip_call_id"
        /// QUIC: bytes of the connection ID that the server chose (RFC 9000, RFC 9369).
        case quicServerID = "quic_server_id"
        /// DTLS: bytes of the connection ID (RFC 9146; RFC 9147, section 4).
        case dtlsServerID = "dtls_server_id"

        /// Whether it takes an offset and a length, within the connection ID.
        public var takesBytes: Bool { self == .quicServerID || self == .dtlsServerID }

        var kind: lb_payload_kind {
            switch self {
            case .ipfixDomain: LB_PAYLOAD_IPFIX_DOMAIN
            case .netflowSource: LB_PAYLOAD_NETFLOW_SOURCE
            case .radiusID: LB_PAYLOAD_RADIUS_ID
            case .sipCallID: LB_PAYLOAD_SIP_CALL_ID
            case .quicServerID: LB_PAYLOAD_QUIC_SERVER_ID
            case .dtlsServerID: LB_PAYLOAD_DTLS_SERVER_ID
            }
        }
    }

    /// nil: the bytes are at `offset` of the payload.
    public var preset: Preset?
    /// 0...1023; of a server ID, within the connection ID.
    public var offset: UInt16
    /// 1...20; 0 for presets that do not take it.
    public var length: UInt8
    /// Bytes of an encapsulation in front of the protocol's own header, 0...255.
    public var skip: UInt8

    public init(_ preset: Preset? = nil, offset: UInt16 = 0, length: UInt8 = 0, skip: UInt8 = 0) {
        (self.preset, self.offset, self.length, self.skip) = (preset, offset, length, skip)
    }

    /// What is wrong with it; nil if it is valid.
    public var fault: String? {
        var key = datapath
        // SAFETY: the C function reads the one value behind the pointer before it returns.
        if unsafe lb_payload_key_is_valid(&key) != 0 { return nil }
        guard let preset else {
            return "needs a length of 1 to \(LB_PAYLOAD_LENGTH_MAX) and an offset of 0 to "
                + "\(LB_PAYLOAD_OFFSET_MAX)"
        }
        guard preset.takesBytes else {
            return "\(preset.rawValue) has its own bytes, without offset and length"
        }
        let end = preset == .quicServerID ? LB_PAYLOAD_QUIC_MAX : LB_PAYLOAD_DTLS_MAX
        return
            "\(preset.rawValue) needs a length of 1 to \(LB_PAYLOAD_LENGTH_MAX), which ends within "
            + "the \(end) bytes of a connection ID"
    }

    /// As in the tables of the data planes.
    public var datapath: lb_payload_key {
        lb_payload_key(
            kind: UInt16((preset?.kind ?? LB_PAYLOAD_BYTES).rawValue), offset: offset,
            length: length, skip: skip, reserved: 0)
    }

    /// - Returns: nil for an unknown kind.
    public init?(datapath key: lb_payload_key) {
        self.init(offset: key.offset, length: key.length, skip: key.skip)
        if UInt32(key.kind) == LB_PAYLOAD_BYTES.rawValue { return }
        guard let preset = Preset.allCases.first(where: { $0.kind.rawValue == UInt32(key.kind) })
        else { return nil }
        self.preset = preset
    }
}

/// Written as `offset=4,length=8`, `ipfix_domain` or `quic_server_id,offset=1,length=4,skip=8`.
extension PayloadKey: LosslessStringConvertible {
    public var description: String {
        var words = preset.map { [$0.rawValue] } ?? []
        if preset?.takesBytes ?? true { words += ["offset=\(offset)", "length=\(length)"] }
        if skip > 0 { words.append("skip=\(skip)") }
        return words.joined(separator: ",")
    }

    /// - Returns: nil if it is not written so; ``fault`` is still to be checked.
    public init?(_ text: String) {
        self.init()
        for (index, word) in text.split(separator: ",", omittingEmptySubsequences: false)
            .enumerated()
        {
            let parts = word.split(separator: "=", omittingEmptySubsequences: false)
            if index == 0, parts.count == 1, let preset = Preset(rawValue: String(word)) {
                self.preset = preset
                continue
            }
            guard parts.count == 2, let value = UInt16(parts[1]) else { return nil }
            switch (parts[0], UInt8(exactly: value)) {
            case ("offset", _): offset = value
            case ("length", let value?): length = value
            case ("skip", let value?): skip = value
            default: return nil
            }
        }
    }
}

extension PayloadKey {
    /// The bytes of a payload that are hashed; nil if it does not have them.
    public func bytes(in payload: [UInt8]) -> [UInt8]? {
        var key = datapath
        var words = [UInt64](repeating: 0, count: Int(LB_PAYLOAD_WORDS))
        // SAFETY: the C function reads no more of the payload than there is, and has as many words as it writes.
        let length = unsafe payload.withUnsafeBytes { bytes in
            var payload = unsafe lb_payload(
                from: bytes.baseAddress, start: 0, bytes: UInt32(bytes.count))
            return unsafe lb_payload_read(&key, &payload, &words)
        }
        guard length > 0 else { return nil }
        return (0..<Int(length)).map {
            UInt8(truncatingIfNeeded: words[$0 / 8].littleEndian >> (8 * UInt64($0 % 8)))
        }
    }

    /// Whether the source address is hashed too, and datagrams without the bytes go by it.
    public var hasSource: Bool { preset == .ipfixDomain || preset == .netflowSource }
}

extension FlowKey {
    /// The key of `payload`.
    public static func payload(
        _ bytes: [UInt8], _ key: PayloadKey, source: Endpoint, destination: Endpoint,
        seed: UInt64 = 0
    ) -> UInt32 {
        var (key, flow) = (key.datapath, Self.flow(source, destination))
        // SAFETY: the C function reads the values behind the pointers, and no more of the bytes than there are,
        // before it returns.
        return unsafe bytes.withUnsafeBytes { bytes in
            var payload = unsafe lb_payload(
                from: bytes.baseAddress, start: 0, bytes: UInt32(bytes.count))
            return unsafe lb_key_payload(seed, &key, &payload, &flow)
        }
    }

    static func flow(_ source: Endpoint, _ destination: Endpoint) -> lb_flow {
        var flow = lb_flow()
        flow.source = source.address.datapath
        flow.destination = destination.address.datapath
        flow.source_port = source.port
        flow.destination_port = destination.port
        return flow
    }
}

extension [UInt8] {
    /// Pairs of hexadecimal digits; blanks do not count.
    public init?(hexadecimal text: some StringProtocol) {
        let nibbles = text.filter { $0 != " " }.map { $0.isASCII ? $0.hexDigitValue : nil }
        guard nibbles.count % 2 == 0, !nibbles.contains(nil) else { return nil }
        let values = nibbles.compactMap(\.self)
        self = stride(from: 0, to: values.count, by: 2).map {
            UInt8(values[$0] << 4 | values[$0 + 1])
        }
    }
}
