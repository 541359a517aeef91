// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A listener as far as it could be read: what is unreadable is nil and has been reported, and the
/// rest still takes part in the checks, so that one mistake does not hide another.
struct ListenerDraft {
    struct DownstreamDraft {
        var origin: Origin
        var name: Located<String>?
        var address: Located<Endpoint>?
        var weight: Located<Int>?
        var mac: Located<String>?
    }

    var origin: Origin
    var name: Located<String>?
    /// As written, or as `vip` and `ports` say.
    var bind: Located<Endpoint>?
    /// Whether the key `bind` stands there, readable or not.
    var hasBind: Bool
    var nat: NATDraft
    var mode: Located<ForwardingMode>?
    var balance = Balance.roundRobin
    /// Where the value stands; nil when it is not written.
    var balanceOrigin: Origin?
    var preserveSource: Located<Bool>?
    var interface: Located<String>?
    /// Whether the key stands there, readable or not.
    var namesInterface: Bool
    var addresses: Located<ServedAddresses>?
    /// nil when the key is not written or not a list.
    var downstreams: [DownstreamDraft]?
    /// Items of the list, unreadable ones included.
    var downstreamCount = 0
    var downstreamOrigin: Origin?
    var kubernetes: KubernetesConfiguration?
    var file: FileConfiguration?
    var dns: DNSConfiguration?
    /// Where a source says which port receivers have.
    var receiverPortOrigin: Origin?
    /// Where the sources of receivers besides `downstream` stand, readable or not.
    var sourceOrigins: [Origin] = []
    var settings: ListenerSettings
    /// Where the listener's own settings say `tc_attach`, and `xdp_mode`.
    var attachOrigin: Origin?
    var xdpModeOrigin: Origin?
    /// Of the listener's own settings; the process keeps those of all.
    var keptCapabilities: [KeptCapability] = []

    init(_ reader: SectionReader, settings common: ListenerSettings) {
        origin = reader.origin
        name = reader.name(.listenerName)
        nat = NATDraft(reader)
        hasBind = reader.keyOrigin(of: .listenerBind) != nil
        bind = hasBind ? reader.endpoint(.listenerBind) : nat.bind
        if !hasBind, nat.origin(of: .listenerVIP) == nil, nat.origin(of: .listenerPorts) == nil {
            let place = reader.origin.under(reader.path(of: ConfigKey.listenerBind.name))
            reader.findings.error(at: place, "is missing", ConfigKey.listenerBind.type.remedy)
        }
        mode =
            reader.keyOrigin(of: .listenerMode) == nil
            ? Located(value: .userspace, origin: reader.origin.under(reader.path(of: "mode")))
            : reader.choice(.listenerMode, of: ForwardingMode.self)
        let balance = reader.choice(
            .listenerBalance, of: Balance.self,
            spellings: ["roundrobin": .roundRobin, "iphash": .sourceIP])
        self.balance = balance?.value ?? .roundRobin
        balanceOrigin = balance?.origin
        preserveSource = reader.boolean(.listenerPreserveSource)
        interface = reader.interface(.listenerInterface)
        namesInterface = reader.keyOrigin(of: .listenerInterface) != nil
        addresses = reader.addresses(.listenerAddresses)
        downstreamOrigin = reader.keyOrigin(of: .listenerDownstream)
        let items = reader.items(of: .listenerDownstream)
        downstreamCount = items?.count ?? 0
        let port = mode?.value == .xdpNAT ? bind?.value.port : nil
        downstreams = items.map {
            reader.readers(for: .listenerDownstream, $0).map { DownstreamDraft($0, port: port) }
        }
        sourceOrigins = [ConfigKey.listenerKubernetes, .listenerFile, .listenerDNS].compactMap {
            reader.keyOrigin(of: $0)
        }
        let (list, name) = (reader.reader(for: .listenerFile), reader.reader(for: .listenerDNS))
        file = list.flatMap(FileConfiguration.init)
        if port != nil, list?.keyOrigin(of: .filePort) == nil { file?.port = port }
        dns = name.flatMap(DNSConfiguration.init)
        receiverPortOrigin = list?.keyOrigin(of: .filePort) ?? name?.keyOrigin(of: .dnsPort)
        kubernetes = reader.reader(for: .listenerKubernetes).flatMap(KubernetesConfiguration.init)
        settings = common
        if let own = reader.reader(for: .listenerSettings) {
            settings.override(with: own)
            attachOrigin = own.keyOrigin(of: .tcAttach)
            xdpModeOrigin = own.keyOrigin(of: .xdpMode)
            keptCapabilities = own.choices(.keepCapabilities, of: KeptCapability.self) ?? []
        }
    }

    /// How problems of other listeners call this one.
    var title: String { "listener " + (name?.value.quoted ?? origin.key) }
}

extension ListenerDraft.DownstreamDraft {
    /// - Parameter port: what an address without one means; nil where it must have one.
    init(_ reader: SectionReader, port: UInt16?) {
        origin = reader.origin
        name = reader.name(.downstreamName)
        address = reader.receiver(.downstreamAddress, port: port)
        weight = reader.integer(.downstreamWeight)
        mac = reader.macAddress(.downstreamMAC)
    }
}

extension ListenerConfiguration {
    /// The finished listener; nil while a part that must be there is missing.
    init?(_ draft: ListenerDraft) {
        guard let name = draft.name, let bind = draft.bind, let mode = draft.mode else {
            return nil
        }
        var downstreams: [DownstreamConfiguration] = []
        for item in draft.downstreams ?? [] {
            guard let name = item.name, let address = item.address else { return nil }
            downstreams.append(
                DownstreamConfiguration(
                    name: name.value, address: address.value,
                    weight: UInt16(clamping: item.weight?.value ?? 1), mac: item.mac?.value))
        }
        self.init(
            name: name.value, bind: bind.value, mode: mode.value, balance: draft.balance,
            preserveSource: draft.preserveSource?.value, interface: draft.interface?.value,
            addresses: draft.addresses?.value ?? .listed([]), downstreams: downstreams,
            kubernetes: draft.kubernetes, file: draft.file, dns: draft.dns,
            settings: draft.settings,
            nat: mode.value == .xdpNAT ? draft.nat.settings : NATSettings())
        modeOrigin = mode.origin
    }
}
