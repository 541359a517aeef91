// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tell which member of a group gets a source's packets, and why.")

    @Argument(help: "The group's name.")
    var name: String

    @Argument(
        help: "The sender: an address, or address:port for a group that balances by four_tuple.",
        transform: endpoint)
    var source: Endpoint

    @Argument(
        help: "The receiver, address:port, for a group that balances by four_tuple.",
        transform: endpoint)
    var destination: Endpoint?

    @Option(
        help: ArgumentHelp(
            "The payload of a datagram, in hexadecimal, for a group that balances by payload.",
            valueName: "hex"),
        transform: { text in
            guard let bytes = [UInt8](hexadecimal: text) else {
                throw ValidationError("write pairs of hexadecimal digits")
            }
            return bytes
        })
    var payload: [UInt8]?

    @Flag(help: "Look at the TCP members.")
    var tcp = false

    @OptionGroup var root: PinRootFlag

    private static func endpoint(_ text: String) throws -> Endpoint {
        if let address = IPAddress(text) { return Endpoint(address, port: 0) }
        guard let endpoint = try? Endpoint(parsing: text) else {
            throw ValidationError("'\(text)' is neither an address nor address:port")
        }
        return endpoint
    }

    func validate() throws { try checkName(name) }

    func run() throws {
        var options = GroupOptions(pinRoot: root.pinRoot)
        options.existingOnly = true
        let group = try GroupOpening.open(name, options)
        let info = try group.info()
        let placement = try group.placement(
            of: source, to: destination, payload: payload, transport: tcp ? .tcp : .udp)
        let sender = source.port == 0 ? "\(source.address)" : "\(source)"
        StandardStream.output.write(
            "\(sender): slot \(placement.slot) of \(info.count), by \(info.key) and seed "
                + "\(info.seed)\n" + Self.reason(placement) + "\n")
    }

    private static func reason(_ placement: Placement) -> String {
        guard let member = placement.member else {
            return "the group has no member: the kernel chooses among the sockets of the port"
        }
        let process = member.pid.map { "process \($0)" } ?? "an unknown process"
        let socket = "\(process), cookie \(member.cookie)"
        return placement.isFallback
            ? "its member is missing; the fallback is slot \(member.slot): \(socket)"
            : "its member: \(socket)"
    }
}
