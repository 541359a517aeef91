// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct NATCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nat",
        abstract: "Balance one virtual address over real servers by NAT, as sbulb does.",
        usage: usageOfRun + """

            udp-fanout nat show [--client IP[:PORT]] [--server IP[:PORT]] [--counts] [--json]
            udp-fanout nat drop (--client IP[:PORT] | --server IP[:PORT] | --all)
            """,
        subcommands: [NATRunCommand.self, NATShowCommand.self, NATDropCommand.self],
        defaultSubcommand: NATRunCommand.self)

    /// Without the word `run`, which nobody has to write.
    static let usageOfRun = """
        udp-fanout nat IFNET -vs VIP (-rs IP ... | -cfg FILE) -p PORT ... [-d 0..4] [-l LEVEL] \
        [-mp N] [-mrs N] [-ma N] [--routed] [--balance BALANCE]
        """
}
