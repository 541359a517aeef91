// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import LinuxNet

#if KernelModes
    internal import XDPNATPlane
#endif

struct NATDropCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Drop associations: a client's next packet chooses a server again.",
        discussion: "Prints the number of dropped associations. It needs root, but no daemon.")

    @OptionGroup var filter: NATFilterOptions

    @Flag(help: "Every association.")
    var all = false

    func validate() throws {
        guard all != (filter.client != nil || filter.server != nil) else {
            throw ValidationError("give --client, --server or both, or --all")
        }
    }

    func run() throws {
        #if KernelModes
            do {
                var dropped = 0
                for program in try NATInspection.present(for: "drop") {
                    dropped += try program.drop(filter.filter)
                }
                guard StandardStream.output.write("\(dropped) associations dropped\n") else {
                    throw ExitCode(1)
                }
            } catch let error as PlaneError {
                StandardStream.error.write("nat drop: \(error)\n")
                throw ExitCode(1)
            }
        #else
            StandardStream.error.write("nat drop: this build has no kernel modes\n")
            throw ExitCode(1)
        #endif
    }
}
