// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore

extension Daemon {
    /// Why it does not serve at this moment, in one line; nil when every listener does.
    ///
    /// A listener serves when it is open, its interface is there, up and has an address for it, and, where its
    /// receivers are looked up, the source has answered once, be it that there is nobody, or it is known who
    /// received before.
    var obstacle: String? {
        get async {
            switch stage {
            case .starting: return "starting"
            case .stopping: return "stopping"
            case .serving: break
            }
            let wanted = configuration.state
            let open = Set(await reconciler.view.active.listeners.map(\.name))
            if let closed = wanted.listeners.first(where: { !open.contains($0.name) }) {
                return "listener \(closed.name) is not open"
            }
            if let unknown = wanted.unknownSubjects(in: await discovery.view()).min() {
                return "nothing is known yet of \(unknown)"
            }
            let idle = await reconciler.obstructions().first { $0.receivers.isEmpty }
            return idle.map { "listener \($0.listener) serves nothing: \($0.reason)" }
        }
    }
}
