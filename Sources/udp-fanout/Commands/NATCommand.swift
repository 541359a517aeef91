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

    /// Without `run`, which is optional.
    static let usageOfRun = """
        udp-fanout nat IFNET -vs VIP (-rs IP ... | -cfg FILE) -p PORT ... [-d 0..4] [-l LEVEL] \
        [-mp N] [-mrs N] [-ma N] [--routed] [--balance BALANCE]
        """
}

/// The command line of `udp-fanout nat` as sbulb spells it: long options with one dash, which the argument parser does
/// not accept.
enum NATArguments {
    private static let spellings = [
        "-vs": "--virtual_server", "-rs": "--real_server", "-cfg": "--config_file",
        "-p": "--port", "-d": "--debug", "-l": "--loglevel", "-mp": "--max_ports",
        "-mrs": "--max_realservers", "-ma": "--max_associations",
    ]

    /// The same in the parser's spelling; other commands' arguments are unchanged.
    ///
    /// - Parameter arguments: without the name of the program.
    static func translated(_ arguments: [String]) -> [String] {
        guard arguments.first == "nat" else { return arguments }
        return arguments.map { argument in
            if let long = spellings[argument] { return long }
            guard let sign = argument.firstIndex(of: "="),
                let long = spellings[String(argument[..<sign])]
            else { return argument }
            return long + argument[sign...]
        }
    }
}
