// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
public import FanoutCore

extension XDPNATPlane {
    /// Of a listener of both protocols, the receiver of the source's datagrams.
    public func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: String
    ) -> Endpoint? {
        let name = Front.Name(listener: listener, port: destination.port)
        guard let serving, let front = serving.layout.fronts[name],
            let transport = listeners.first(where: { $0.name == listener })?.nat.transport,
            let protocolNumber = transport.numbers.first,
            let word = try? serving.program.memory.association(
                of: source, protocolNumber, front.number)
        else { return nil }
        let (number, generation) = (UInt16(lb_nat_server_of(word)), lb_nat_generation_of(word))
        return front.servers.first {
            $0.value.number == number && $0.value.generation == generation
        }?.key
    }
}

extension NATMemory {
    /// The word of a client's association, whether its server is still there or not; nil when it has none.
    /// Looking makes it no younger: the kernel tells the calls of programs from those of processes.
    fileprivate func association(
        of client: Endpoint, _ protocolNumber: UInt8, _ front: UInt32
    ) throws(BPFError) -> UInt64? {
        let isV6 = client.address.family == .v6
        let key = lb_nat_client_of(
            client.address.datapath, client.port, protocolNumber, UInt8(front), isV6 ? 1 : 0)
        for map in isV6 ? ["associations6", "unanswered6"] : ["associations4", "unanswered4"] {
            let value = try read(map) { map throws(BPFError) in
                isV6 ? try map.value(of: key) : try map.value(of: key.words.0)
            }
            if let value { return value.read(lb_nat_association.self).word }
        }
        return nil
    }
}
