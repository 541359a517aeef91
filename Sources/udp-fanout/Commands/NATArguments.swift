// SPDX-License-Identifier: Apache-2.0

/// The command line of `udp-fanout nat` as sbulb spells it: long options behind one dash, which no parser of
/// this package takes.
enum NATArguments {
    private static let spellings = [
        "-vs": "--virtual_server", "-rs": "--real_server", "-cfg": "--config_file",
        "-p": "--port", "-d": "--debug", "-l": "--loglevel", "-mp": "--max_ports",
        "-mrs": "--max_realservers", "-ma": "--max_associations",
    ]

    /// The same in words that the parser takes; other commands' arguments stay as they are.
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
