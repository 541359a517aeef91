// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

extension Configuration {
    /// What this file asks for and a build that carries only `modes` cannot do: one problem for each place, in line order.
    public func unsupported(modes: Set<ForwardingMode>) -> [ConfigProblem] {
        let instead = ForwardingMode.allCases.filter(modes.contains).map(\.rawValue)
        var problems: [ConfigProblem] = []
        for listener in listeners {
            if !modes.contains(listener.mode) {
                problems.append(
                    ConfigProblem(
                        at: listener.modeOrigin,
                        what: "mode \(listener.mode.rawValue) is not part of this build",
                        remedy: "write mode: \(instead.joined(separator: " or mode: "))"))
            }
        }
        return problems.sorted(by: ConfigProblem.isBefore)
    }
}
