// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
package import FanoutCore
package import Logging

/// The pinned hooks of a plane, all with the same program.
package struct PlaneHooks {
    private let pins: HookPins
    private let root: String
    private let logger: Logger
    private var hooks: [UInt32: PinnedHook] = [:]
    private var wanted: [WantedHook] = []

    /// - Parameter root: the BPF file system.
    package init(_ pins: HookPins, root: String, logger: Logger) {
        self.pins = pins
        self.root = root
        self.logger = logger
    }

    package var all: [PinnedHook] { Array(hooks.values) }

    package func has(_ index: UInt32) -> Bool { hooks[index] != nil }

    /// Whether the program is attached to each of these hooks already, in a wanted mode.
    package func satisfy(_ wanted: [WantedHook]) -> Bool {
        wanted.allSatisfy { want in
            hooks[want.interface.index]?.mode.map(want.modes.contains) == true
        }
    }

    /// Opens the hooks without a change to them; in the order of `wanted`.
    package func open(_ wanted: [WantedHook]) throws(BPFError) -> [PinnedHook] {
        var opened: [PinnedHook] = []
        do throws(BPFError) {
            for want in wanted {
                let known = hooks[want.interface.index]
                let hook =
                    if let known { known } else {
                        try PinnedHook(want.interface, pins, root: root)
                    }
                opened.append(hook)
            }
        } catch {
            close(opened)
            throw error
        }
        return opened
    }

    /// Undoes `open`.
    package func close(_ opened: [PinnedHook]) {
        for hook in opened { hook.removeEmptyFolder() }
    }

    /// Replaces the program at all of the hooks or, when one of them fails, at none of this process; the program of a
    /// killed daemon stays.
    ///
    /// - Parameter opened: by `open` with the same `wanted`.
    package mutating func replace(
        with program: HookProgram, at opened: [PinnedHook], _ wanted: [WantedHook]
    ) throws(BPFError) {
        let before = opened.map { (current: $0.current, isOccupied: $0.mode != nil) }
        // Hooks without a program come first: those may fail.
        let order =
            opened.indices.filter { !before[$0].isOccupied }
            + opened.indices.filter { before[$0].isOccupied }
        var tried: [Int] = []
        do throws(BPFError) {
            for place in order {
                tried.append(place)
                try opened[place].replace(with: program, trying: wanted[place].modes)
            }
        } catch {
            for place in tried {
                let hook = opened[place]
                if let current = before[place].current {
                    _ = try? hook.replace(with: current.program, trying: [current.mode])
                } else if !before[place].isOccupied || hook.mode == nil {
                    hook.remove()
                }
            }
            close(opened)
            throw error
        }
        for (hook, before) in zip(opened, before) {
            hooks[hook.interface.index] = hook
            if hook.mode != before.current?.mode { hook.logAttached(logger) }
        }
    }

    /// Closes the hooks of interfaces without a listener, and of deleted ones.
    package mutating func leave(allBut wanted: [WantedHook]) {
        self.wanted = wanted
        let indices = Set(wanted.map(\.interface.index))
        for (index, hook) in hooks where !indices.contains(index) {
            hook.remove()
            hooks[index] = nil
        }
    }

    package func restoreDetached() {
        for want in wanted {
            hooks[want.interface.index]?.restoreIfDetached(trying: want.modes, logger)
        }
    }

    package mutating func removeAll() { leave(allBut: []) }

    /// Leaves the program at the hooks, for another process to take over.
    package mutating func release() { hooks = [:] }

    /// - Parameter message: logged for each interface with a removed hook of a killed daemon.
    package func removeLeftovers(_ message: Logger.Message) {
        guard PinFolder.exists(root: root, name: "") else { return }
        for interface in pins.removeLeftovers(
            root: root, interfaces: HostInterface.present, but: hooks.keys)
        {
            logger.info(
                message,
                metadata: ["interface": "\(interface.name)", "ifindex": "\(interface.index)"])
        }
    }
}

/// An interface to attach a program to.
package struct WantedHook: Equatable, Sendable {
    package let interface: HostInterface
    /// In the order in which they are tried.
    package let modes: [HookMode]

    package init(_ interface: HostInterface, _ modes: [HookMode]) {
        self.interface = interface
        self.modes = modes
    }
}

extension TCAttach {
    package var modes: [HookMode] {
        switch self {
        case .auto: [.tcx, .clsact]
        case .tcx: [.tcx]
        case .clsact: [.clsact]
        }
    }
}

extension XDPAttach {
    package var modes: [HookMode] {
        switch self {
        case .auto: [.native, .skb]
        case .native: [.native]
        case .skb: [.skb]
        }
    }
}
