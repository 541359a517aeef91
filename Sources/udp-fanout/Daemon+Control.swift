// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

extension Daemon {
    /// Opens the control socket, for the start.
    ///
    /// - Returns: false when the configuration names one that cannot be opened; the reason has been logged.
    func startControl() -> Bool {
        do throws(ControlSocketError) {
            try openControl(configuration.control)
            return true
        } catch {
            logger.error("start-up failed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Opens the socket of `wanted`, unless it is open already. The old one stays open until it is stopped. If
    /// the default place is not available, the daemon forwards without a control socket.
    ///
    /// - Throws: when the configuration names a socket that cannot be opened.
    ///
    /// - Parameter takingOver: whether to take the path from a running daemon.
    func openControl(
        _ wanted: ControlConfiguration, takingOver: Bool = false
    ) throws(ControlSocketError) {
        guard wanted.enabled else {
            control = nil
            return
        }
        guard let path = wanted.socket ?? ControlPlace.own else {
            logger.info(
                "no control socket: the user has no runtime folder",
                metadata: ["remedy": "set control.socket or XDG_RUNTIME_DIR"])
            return
        }
        if control?.path == path { return }
        do throws(ControlSocketError) {
            control = try startControl(at: path, takingOver: takingOver)
            logger.info("control socket ready", metadata: ["path": "\(path)"])
        } catch {
            if wanted.socket != nil { throw error }
            logger.warning("no control socket", metadata: ["error": "\(error)"])
        }
    }

    func startControl(
        at path: String, takingOver: Bool
    ) throws(ControlSocketError) -> ControlServer {
        try ControlServer.start(path: path, takingOver: takingOver, logger: logger, host: self) {
            await self.answer($0)
        }
    }

    /// Carries out a client's request.
    func answer(_ request: ControlRequest) async -> ControlResponse {
        if let refusal = refusal(of: request) { return .failure(refusal) }
        switch request.request {
        case .status: return .status(StatusReport(await snapshot()))
        case .explain: return await explain(request)
        case .drain: return await drain(request.name, true)
        case .undrain: return await drain(request.name, false)
        case .takeover: return await carryOut(request, for: 0).0
        case .reload:
            guard file != nil else {
                return .failure(
                    ControlFailure(
                        "there is no configuration file", remedy: "start it with --config FILE"))
            }
            await reload()
            return .reload(lastReload)
        }
    }

    /// Refuses changes while the daemon starts; nil when the request is allowed.
    func refusal(of request: ControlRequest) -> ControlFailure? {
        switch request.request {
        case .status, .explain: nil
        case .reload, .drain, .undrain, .takeover:
            stage == .starting
                ? ControlFailure(
                    "the daemon is starting", remedy: "ask again once it runs", mayRetry: true)
                : nil
        }
    }

    private func drain(_ name: String?, _ isDrained: Bool) async -> ControlResponse {
        guard newProcess == nil else {
            let remedy = "ask the new daemon when that is done"
            return .failure(ControlFailure("another process is taking over", remedy: remedy))
        }
        let entries = await reconciler.entries(named: name ?? "")
        let before = await reconciler.view
        guard !entries.isEmpty else {
            let names = before.active.listeners.flatMap { listener in
                listener.downstreams.map { "\(listener.name)/\($0.name)" }
            }
            let shown = names.prefix(20).joined(separator: ", ") + (names.count > 20 ? ", …" : "")
            return .failure(
                ControlFailure(
                    "no receiver is called '\(name ?? "")'", remedy: "there are: \(shown)"))
        }
        do {
            try await reconciler.drain(entries, isDrained)
        } catch {
            return .failure(ControlFailure("nothing has changed", remedy: "\(error)"))
        }
        let after = await reconciler.view
        let names = entries.sorted().map(\.description)
        logger.info(
            isDrained ? "downstream is drained by hand" : "downstream is back in service",
            metadata: ["downstreams": "\(names.joined(separator: ","))"])
        let touched = Set(entries.map(\.listener))
        let empty = after.active.listeners.filter { listener in
            touched.contains(listener.name) && !listener.downstreams.contains(where: \.isReady)
        }
        return .drain(
            DrainReport(
                receivers: names, changed: before.drains != after.drains,
                drained: after.drains.entries.sorted().map(\.description),
                listenersWithoutReceiver: isDrained ? empty.map(\.name) : []))
    }
}

extension Daemon {
    /// Reports the receiver of a datagram, or why there is none.
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
                        + "use one family for both"))
        }
        let payload = request.payload.map { [UInt8](hexadecimal: $0) }
        if let payload, payload == nil {
            return .failure(
                ControlFailure(
                    "the payload cannot be read", remedy: "write pairs of hexadecimal digits"))
        }
        let state = await reconciler.view.active
        let obstructions = await reconciler.obstructions()
        let reasons = reasons(for: ends[1], among: state.listeners, obstructions)
        let serving = state.listeners.filter { reasons[$0.name] == nil }
        guard
            var explanation = Explanation(
                from: ends[0], to: ends[1], payload: payload ?? nil,
                in: DesiredState(listeners: serving))
        else {
            return .failure(
                ControlFailure(
                    "no listener takes datagrams to \(ends[1])",
                    remedy: Self.servedPlaces(state.listeners, but: reasons)))
        }
        let server = await reconciler.receiver(
            associatedWith: ends[0], to: ends[1], of: explanation.listener)
        if let server { explanation.associate(with: server) }
        guard !explanation.lacksPayload else {
            return .failure(
                ControlFailure(
                    "listener \(explanation.listener.name) balances by bytes of the payload",
                    remedy: "give the payload of a datagram: --payload HEX"))
        }
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

    /// Why listeners of a destination do not serve it now, by their names.
    private func reasons(
        for destination: Endpoint, among listeners: [Listener], _ obstructions: [Obstruction]
    ) -> [String: String] {
        let meant = Set(listeners.filter { $0.match(destination) != nil }.map(\.name))
        let idle = obstructions.filter { $0.receivers.isEmpty && meant.contains($0.listener) }
        return Unserved.reasons(destination, among: listeners)
            .merging(idle.map { ($0.listener, $0.reason) }) { $1 }
    }

    /// - Parameter reasons: why the destination's listeners do not serve it, by their names.
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
