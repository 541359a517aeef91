// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import HostNetwork
internal import Logging

// The hooks of a program that stays as it is: those that nobody wants any more, and those that somebody else
// has cleared.

extension TCPlane {
    /// Takes the program off the interfaces that no listener names any more, or that are gone.
    func leave(allBut wanted: [WantedHook]) {
        let indices = Set(wanted.map(\.interface.index))
        for (index, hook) in hooks where !indices.contains(index) {
            hook.remove()
            hooks[index] = nil
            restores.forget(index)
        }
    }

    /// Puts the program back where somebody has taken it off. No event tells of that.
    func restoreHooks() {
        guard let serving, let network else { return }
        let missing = hooks.values.filter { !$0.has(serving.program) }
        // An interface that goes has an event, which is followed elsewhere.
        guard !missing.isEmpty, (try? look(for: listeners, since: .now)) == network,
            let wanted = try? WantedHook.all(of: listeners, on: network)
        else { return }
        for want in wanted {
            guard let hook = missing.first(where: { $0.interface.index == want.interface.index })
            else { continue }
            restore(hook, serving.program, by: want)
        }
    }

    private func restore(_ hook: InterfaceHook, _ program: TCProgram, by want: WantedHook) {
        var place: Logger.Metadata = [:]
        if hook.isTakenByAnother {
            place["reason"] = "another udp-fanout put its program in the place of this one's"
            place["remedy"] = "stop one, or name both in one file"
        }
        hook.forget()
        restores.restore(at: hook.interface, logger, place: place) {
            try hook.put(program, by: want.attach)
            logAttached(hook)
        }
    }
}
