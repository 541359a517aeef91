// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore

extension Roll {
    /// The services that were ever written, with their fronts, by number; those without one are no more.
    static func services(
        of memory: NATMemory
    ) throws(BPFError) -> [UInt16: (Service, front: UInt32?)] {
        var services: [UInt16: (Service, front: UInt32?)] = [:]
        try memory.read("services") { map throws(BPFError) in
            for index in 0..<UInt16(clamping: map.entries) {
                guard let bytes = try map.value(of: UInt32(index)) else { continue }
                let entry = bytes.read(lb_nat_service.self)
                guard entry.port != 0 else { continue }
                let address = IPAddress(high: entry.address.high, low: entry.address.low)
                let service = Service(
                    address: address, port: entry.port, transport: entry.protocol)
                let hasLeft = entry.listener == LB_NAT_SERVICE_LEFT
                services[index] = (service, hasLeft ? nil : entry.listener)
            }
        }
        return services
    }

    /// Reads what a former process wrote into its maps.
    init(of memory: NATMemory) throws(BPFError) {
        var servers: [UInt16: (Seat, generation: UInt32)] = [:]
        var departed: [UInt16: UInt32] = [:]
        try memory.read("servers") { map throws(BPFError) in
            for index in 0..<UInt16(clamping: map.entries) {
                guard let bytes = try map.value(of: UInt32(index)) else { continue }
                let entry = bytes.read(lb_nat_server.self)
                if entry.generation == 0 {
                    if entry.lastGeneration != 0 { departed[index] = entry.lastGeneration }
                    continue
                }
                let endpoint = Endpoint(
                    IPAddress(high: entry.address.high, low: entry.address.low), port: entry.port)
                servers[index] = (Seat(front: entry.listener, server: endpoint), entry.generation)
            }
        }
        self.init(
            services: try Self.services(of: memory), servers: servers, departed: departed)
    }
}
