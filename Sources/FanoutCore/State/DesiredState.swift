// SPDX-License-Identifier: Apache-2.0

/// What the daemon should be doing: the one value that every input (configuration, discovery, health)
/// feeds and that every data plane follows.
public struct DesiredState: Equatable, Sendable {
    /// Names are unique.
    public var listeners: [Listener]

    public init(listeners: [Listener] = []) { self.listeners = listeners }

    /// The part that one data plane carries.
    public func carried(by mode: ForwardingMode) -> DesiredState {
        DesiredState(listeners: listeners.filter { $0.mode == mode })
    }
}
