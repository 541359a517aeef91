// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import LinuxNet

#if KernelModes
    internal import XDPNATPlane
#endif

/// Selects associations.
struct NATFilterOptions: ParsableArguments {
    @Option(help: "Only this client, IP or IP:PORT.")
    var client: String?

    @Option(help: "Only clients of this server, IP or IP:PORT.")
    var server: String?

    func validate() throws { _ = try places }

    /// The client and the server; port 0 is any port.
    var places: (client: (IPAddress, UInt16)?, server: (IPAddress, UInt16)?) {
        get throws { (try client.map(Self.place), try server.map(Self.place)) }
    }

    private static func place(_ text: String) throws -> (IPAddress, UInt16) {
        if let address = IPAddress(text) { return (address, 0) }
        do {
            let endpoint = try Endpoint(parsing: text)
            return (endpoint.address, endpoint.port)
        } catch {
            throw ValidationError("'\(LineLogHandler.escaped(text))' is not an address or ip:port")
        }
    }
}

struct NATShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "List the associations of clients with servers.",
        discussion: """
            A line for each association: the client, the virtual address, the server, its age and \
            whether the server has replied; then the counts. It needs root, but no daemon.
            """)

    @OptionGroup var filter: NATFilterOptions

    @Flag(help: "Print JSON: one object with a list of associations and the counts.")
    var json = false

    @Flag(help: "Print only the counts.")
    var counts = false

    func run() throws {
        #if KernelModes
            do {
                try print(NATInspection.present(for: "show"))
            } catch let error as PlaneError {
                StandardStream.error.write("nat show: \(error)\n")
                throw ExitCode(1)
            }
        #else
            StandardStream.error.write("nat show: this build has no kernel modes\n")
            throw ExitCode(1)
        #endif
    }
}

#if KernelModes
    extension NATFilterOptions {
        var filter: NATInspection.Filter {
            get throws {
                let (client, server) = try places
                var filter = NATInspection.Filter()
                filter.client = client?.0
                filter.clientPort = client.flatMap { $0.1 == 0 ? nil : $0.1 }
                filter.server = server?.0
                filter.serverPort = server.flatMap { $0.1 == 0 ? nil : $0.1 }
                return filter
            }
        }
    }

    extension NATShowCommand {
        private func print(_ programs: [NATInspection]) throws {
            var listing = AssociationListing(isJSON: json, showsCountsAlone: counts)
            for program in programs {
                try program.each(filter.filter) { listing.add($0) }
            }
            try listing.end(interfaces: programs.flatMap(\.interfaces))
        }
    }

    extension NATInspection {
        /// The attached programs of this network namespace; at least one.
        static func present(for command: String) throws -> [NATInspection] {
            let programs = try all()
            guard !programs.isEmpty else {
                StandardStream.error.write(
                    "nat \(command): no program of mode xdp_nat is attached in this network namespace\n"
                )
                throw ExitCode(1)
            }
            return programs
        }
    }
#endif
