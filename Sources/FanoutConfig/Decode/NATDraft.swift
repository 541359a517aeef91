// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

/// The keys of mode `xdp_nat`, as far as they could be read.
struct NATDraft {
    var vip: Located<IPAddress>?
    var ports: Located<[UInt16]>?
    var transport: Located<NATTransport>?
    var isOneArm: Located<Bool>?
    var maxAssociations: Located<Int>?
    var keepsUnansweredApart: Located<Bool>?
    /// The keys that stand there, readable or not.
    var written: [(key: ConfigKey, origin: Origin)]

    static let keys: [ConfigKey] = [
        .listenerVIP, .listenerPorts, .listenerProtocol, .listenerOneArm, .listenerMaxAssociations,
        .listenerUnanswered,
    ]

    init(_ reader: SectionReader) {
        vip = reader.address(.listenerVIP)
        ports = reader.ports(.listenerPorts)
        transport = reader.choice(.listenerProtocol, of: NATTransport.self)
        isOneArm = reader.boolean(.listenerOneArm)
        maxAssociations = reader.integer(.listenerMaxAssociations)
        keepsUnansweredApart = reader.boolean(.listenerUnanswered)
        written = Self.keys.compactMap { key in reader.keyOrigin(of: key).map { (key, $0) } }
    }

    func origin(of key: ConfigKey) -> Origin? { written.first { $0.key == key }?.origin }

    /// What `vip` and `ports` say in place of `bind`.
    var bind: Located<Endpoint>? {
        guard let vip, let port = ports?.value.first else { return nil }
        return Located(value: Endpoint(vip.value, port: port), origin: vip.origin)
    }

    var settings: NATSettings {
        var result = NATSettings()
        result.furtherPorts = Array((ports?.value ?? []).dropFirst())
        if let transport { result.transport = transport.value }
        if let isOneArm { result.isOneArm = isOneArm.value }
        if let maxAssociations { result.maxAssociations = maxAssociations.value }
        if let keepsUnansweredApart { result.keepsUnansweredApart = keepsUnansweredApart.value }
        return result
    }
}

extension SectionReader {
    /// An IP address without a port.
    func address(_ key: ConfigKey) -> Located<IPAddress>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        guard let address = IPAddress(text) else {
            refuse(field.origin, "\(text.quoted) is not an IP address", key)
            return nil
        }
        if address.zone != nil || address.isWildcard || address.isMulticastOrBroadcast {
            refuse(field.origin, "\(address) is not the address of one destination", key)
            return nil
        }
        return Located(value: address, origin: field.origin)
    }

    /// A list of ports, none of them twice; nil too when it is empty.
    func ports(_ key: ConfigKey) -> Located<[UInt16]>? {
        guard let field = value(of: key), let items = items(of: key) else { return nil }
        guard !items.isEmpty else {
            refuse(field.origin, "holds no port", key)
            return nil
        }
        var ports: [UInt16] = []
        for item in items {
            guard case .scalar(let text, .plain) = item.value.content,
                let port = Self.plainDecimal(text).flatMap(UInt16.init(exactly:)), port > 0
            else {
                let text = item.value.text
                refuse(item.origin, "\(text?.quoted ?? "this") is not a port", key)
                continue
            }
            if ports.contains(port) {
                findings.error(at: item.origin, "\(port) stands twice", "remove one of the two")
            } else {
                ports.append(port)
            }
        }
        return ports.isEmpty ? nil : Located(value: ports, origin: field.origin)
    }

    /// The address of a receiver, which may leave out its port when that of the listener is meant.
    func receiver(_ key: ConfigKey, port: UInt16?) -> Located<Endpoint>? {
        guard let port, let field = scalar(key), let address = IPAddress(field.value.text),
            !address.isLinkLocal, address.zone == nil
        else { return endpoint(key) }
        return Located(value: Endpoint(address, port: port), origin: field.origin)
    }
}
