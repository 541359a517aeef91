// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutControl
internal import LinuxNet

/// What every command has that talks to a daemon.
struct ControlOptions: ParsableArguments {
    @Option(help: "The daemon's control socket, if it is not at its usual place.")
    var socket: String?

    @Option(
        name: .shortAndLong,
        help: "The daemon's configuration: its control.socket, if it names one.")
    var config: String?

    @Flag(help: "Print the daemon's answer as it comes: one line of JSON.")
    var json = false

    /// The socket that was named, here or in the configuration, else the first of the usual ones that is there.
    /// A configuration that cannot be read names none: the daemon that runs has read another one.
    var path: String {
        if let socket { return socket }
        if let config, case .valid(let found, _) = Configuration.load(path: config),
            let socket = found.control.socket
        {
            return socket
        }
        let candidates = ControlPlace.candidates
        return candidates.first(where: ThisProcess.canSee) ?? candidates[0]
    }

    /// Sends a request. With `--json` the answer is printed.
    ///
    /// - Returns: the answer, of a request that was carried out.
    /// - Throws: `ExitCode` 1 after saying why it was not.
    func ask(_ request: ControlRequest) throws -> ControlResponse {
        let response: ControlResponse
        do throws(ControlFailure) {
            response = try ControlClient(path: path).ask(request)
        } catch {
            response = .failure(error)
        }
        if json {
            let line = String(decoding: ControlLine.encode(response), as: UTF8.self)
            guard StandardStream.output.write(line) else { throw ExitCode(1) }
        } else if let error = response.error {
            StandardStream.error.write("\(request.request.rawValue): \(error)\n")
        }
        if response.error != nil { throw ExitCode(1) }
        return response
    }

    /// Prints a text, unless the JSON has been printed.
    func show(_ text: String) throws {
        guard !json else { return }
        guard StandardStream.output.write(text) else { throw ExitCode(1) }
    }
}
