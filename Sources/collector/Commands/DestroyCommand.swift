// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import ReusePortLB

struct DestroyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destroy",
        abstract: "Remove a group that no member lives in.")

    @Argument(help: "The group's name.")
    var name: String

    @OptionGroup var root: PinRootFlag

    func validate() throws { try checkName(name) }

    func run() throws { try ReusePortGroup.destroy(name, pinRoot: root.pinRoot) }
}
