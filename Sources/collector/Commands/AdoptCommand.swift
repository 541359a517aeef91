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

    @OptionGroup var place: SlotFlags

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

    func validate() throws {
        guard pid != nil || fd != nil else {
            throw ValidationError("--pid or --fd names the socket")
        }
        guard port == nil || fd == nil else { throw ValidationError("--port belongs to --pid") }
        guard pid.map({ $0 > 0 }) ?? true, fd.map({ $0 >= 0 }) ?? true, port != 0 else {
            throw ValidationError("--pid and --port take numbers from 1 up, --fd from 0 up")
        }
    }

    func run() throws {
        let opened = try place.open()
        try place.slot.take(in: opened, count: place.count) { number in
            if let fd {
                try opened.adopt(
                    descriptor: fd, process: pid ?? ThisProcess.parent, slot: number,
                    replacing: place.replace)
            } else if let pid {
                try opened.adopt(process: pid, port: port, slot: number, replacing: place.replace)
            }
        }
    }
}
