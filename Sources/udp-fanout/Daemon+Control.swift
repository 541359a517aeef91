// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutControlSocket
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

extension Daemon {
    /// Opens the control socket, for the start.
    ///
    /// - Returns: false when the configuration names one that cannot be had, which has been logged.
    func startControl() -> Bool {
        do throws(ControlSocketError) {
            try openControl(configuration.control)
            return true
        } catch {
            logger.error("start-up failed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Opens the socket that `wanted` asks for, unless it is the one in force. That goes on until it is
    /// stopped. Nobody has asked for the usual place by name, so forwarding does not depend on it.
    ///
    /// - Throws: when the configuration names a socket that cannot be had.
    ///
    /// - Parameter takingOver: whether a daemon that runs loses its path.
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
                metadata: ["remedy": "write control.socket, or set XDG_RUNTIME_DIR"])
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

    /// Carries out what a client asks for.
    func answer(_ request: ControlRequest) async -> ControlResponse {
        if let refusal = refusal(of: request) { return .failure(refusal) }
        switch request.request {
        case .status: return .status(await statusReport())
        case .explain: return await explain(request)
        case .drain: return await drain(request.name, true)
        case .undrain: return await drain(request.name, false)
        case .takeover: return await carryOut(request, for: 0).0
        case .reload:
            guard path != nil else {
                return .failure(
                    ControlFailure(
                        "there is no configuration file", remedy: "start it with --config FILE"))
            }
            await reload()
            return .reload(lastReload)
        }
    }

    /// Why nothing may change just now: what a start does is to be found as it was left.
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
            let remedy = "ask the one that runs then"
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
        do throws(PlaneError) {
            ThisProcess.keepReserve(true)
            defer { ThisProcess.keepReserve(false) }
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
