// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

struct AdoptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Put the socket of a running program into a slot.",
        discussion: """
            The program needs no change, but must have bound its UDP socket with SO_REUSEPORT. It keeps the \
            socket; when it ends, the slot is empty. Run this again after each start of the program, as the \
            same user or root.
            """)

    @Option(help: ArgumentHelp("The group's name.", valueName: "name"))
    var group: String

    @Option(
        help: ArgumentHelp(
            "The slot, 0 to the group's count - 1, or auto for the first one without a member.",
            valueName: "index|auto"))
    var slot: Slot

    @Option(help: ArgumentHelp("The program's process.", valueName: "pid"))
    var pid: Int32?

    @Option(
        help: ArgumentHelp(
            "The port of its socket.",
            discussion: "Default: its only UDP socket with SO_REUSEPORT.", valueName: "port"))
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "A socket that this command has inherited; --pid names the process that keeps it, by default the parent.",
            valueName: "descriptor"))
    var fd: Int32?

    @Option(
        help: ArgumentHelp(
            "How many slots the group has; a group with another count is resized.",
            discussion: "Default: the group's count; a new group needs one.", valueName: "number"))
    var count: Int?

    @Flag(help: "Replace the live member of the slot.")
    var replace = false

    @OptionGroup var root: PinRootFlag
    @OptionGroup var balance: BalanceFlags

    func validate() throws {
        try checkName(group)
        if let count { try checkCount(count) }
        try slot.check(count: count, replaces: replace)
        guard pid != nil || fd != nil else {
            throw ValidationError("--pid or --fd names the socket")
        }
        guard port == nil || fd == nil else { throw ValidationError("--port belongs to --pid") }
        guard pid.map({ $0 > 0 }) ?? true, fd.map({ $0 >= 0 }) ?? true, port != 0 else {
            throw ValidationError("--pid and --port take numbers from 1 up, --fd from 0 up")
        }
    }

    func run() throws {
        let opened = try GroupOpening.open(group, GroupOptions(balance, root, count: count))
        try slot.take(in: opened, count: count) { number in
            if let fd {
                try opened.adopt(
                    descriptor: fd, process: pid ?? ThisProcess.parent, slot: number,
                    replacing: replace)
            } else if let pid {
                try opened.adopt(process: pid, port: port, slot: number, replacing: replace)
            }
        }
    }
}
