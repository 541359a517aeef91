// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutControl
internal import LinuxNet

/// The options of every command that talks to a daemon.
struct ControlOptions: ParsableArguments {
    @Option(
        help: """
            The daemon's control socket. (default: control.sock in $RUNTIME_DIRECTORY, else in \
            /run/udp-fanout for root or $XDG_RUNTIME_DIR/udp-fanout for other users)
            """)
    var socket: String?

    @Option(
        name: .shortAndLong,
        help: "The daemon's configuration file: its control.socket is used, if it is set.")
    var config: String?

    @Flag(help: "Print the daemon's reply as one line of JSON.")
    var json = false

    /// The socket of `--socket` or of the configuration, else the first default path that exists. A configuration that
    /// cannot be read names none: the running daemon has read another one.
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

    /// Sends a request. With `--json` it prints the answer.
    ///
    /// - Returns: the answer when the request succeeded.
    /// - Throws: `ExitCode` 1, after an error message, when it failed.
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
