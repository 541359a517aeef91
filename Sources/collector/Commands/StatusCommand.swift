// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "List the groups below the pin root, their members and counters.",
        discussion: "A slot without a member is shown too: its sources are with the others.")

    @Flag(help: "One JSON object.")
    var json = false

    @OptionGroup var root: PinRootFlag

    func run() throws {
        let groups = try ReusePortGroup.pinned(below: root.pinRoot).compactMap { pinned in
            GroupStatus(pinned, root.pinRoot)
        }
        let text: String
        if json {
            text = JSON.object([("groups", .array(groups.map(\.json)))]).description + "\n"
        } else if groups.isEmpty {
            text = "no groups below \(root.pinRoot)\n"
        } else {
            text = groups.map(\.text).joined(separator: "\n")
        }
        guard StandardStream.output.write(text) else { throw ExitCode(1) }
    }
}
