// SPDX-License-Identifier: Apache-2.0

internal import FanoutControl
internal import FanoutControlSocket
internal import FanoutCore

extension Daemon {
    /// Says which receiver a datagram would meet, or why nobody takes it.
    func explain(_ request: ControlRequest) async -> ControlResponse {
        let ends: [Endpoint]
        do throws(Endpoint.Malformed) {
            ends = [
                try Endpoint(parsing: request.from ?? ""), try Endpoint(parsing: request.to ?? ""),
            ]
        } catch {
            return .failure(ControlFailure("an address cannot be read", remedy: error.reason))
        }
        let (from, to) = (ends[0].address, ends[1].address)
        guard from.family == to.family else {
            return .failure(
                ControlFailure(
                    "no listener takes datagrams from \(ends[0]) to \(ends[1])",
                    remedy: "\(from) is \(from.family.rawValue) and \(to) \(to.family.rawValue): "
                        + "write both of one family"))
        }
        let state = await reconciler.view.active
        let obstructions = await reconciler.obstructions()
        let reasons = reasons(for: ends[1], among: state.listeners, obstructions)
        let serving = state.listeners.filter { reasons[$0.name] == nil }
        guard
            var explanation = Explanation(
                from: ends[0], to: ends[1], in: DesiredState(listeners: serving))
        else {
            return .failure(
                ControlFailure(
                    "no listener takes datagrams to \(ends[1])",
                    remedy: Self.servedPlaces(state.listeners, but: reasons)))
        }
        let server = await reconciler.receiver(
            associatedWith: ends[0], to: ends[1], of: explanation.listener)
        if let server { explanation.associate(with: server) }
        var report = ExplanationReport(explanation, from: ends[0], to: ends[1])
        for obstruction in obstructions where obstruction.listener == report.listener {
            guard let name = report.receiver, obstruction.receivers.contains(name) else { continue }
            report.reasons.append(
                "\(name) is out of reach, so it would be dropped: \(obstruction.reason); "
                    + obstruction.remedy)
        }
        let met = explanation.receiver.map {
            meter.receiverRates(of: report.listener)[$0.endpoint]?.refusals ?? 0
        }
        if let name = report.receiver, met ?? 0 > 0 {
            report.reasons.append(
                "\(name) refuses datagrams at present (ICMP): nothing listens there, or a firewall "
                    + "rejects them")
        }
        return .explanation(report)
    }

    /// Why listeners that a destination is meant for do not serve it at this moment, by their names.
    private func reasons(
        for destination: Endpoint, among listeners: [Listener], _ obstructions: [Obstruction]
    ) -> [String: String] {
        let meant = Set(listeners.filter { $0.match(destination) != nil }.map(\.name))
        let idle = obstructions.filter { $0.receivers.isEmpty && meant.contains($0.listener) }
        return Unserved.reasons(destination, among: listeners)
            .merging(idle.map { ($0.listener, $0.reason) }) { $1 }
    }

    /// - Parameter reasons: why those who are meant do not, by their names.
    private static func servedPlaces(_ listeners: [Listener], but reasons: [String: String])
        -> String
    {
        let idle = listeners.compactMap { listener in
            reasons[listener.name].map { "listener \(listener.name): \($0); " }
        }
        let places = listeners.map { "\($0.name) \($0.place)" }
        return idle.joined() + "the listeners are: " + places.joined(separator: ", ")
    }
}
