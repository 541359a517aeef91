// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB

struct ExecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run any program with its socket in a slot.",
        discussion: """
            The program needs no change: the socket that it binds to the address of --listen gets SO_REUSEPORT and \
            joins the slot. The slot is empty when the program closes the socket or ends. This process becomes the \
            program, so exit status, signals and standard streams are the program's own. It must be dynamically \
            linked, unless it takes its socket as LISTEN_FDS.
            """)

    @OptionGroup var place: SlotFlags

    @Option(
        help: ArgumentHelp(
            "The address that the program binds, exactly as it does: 0.0.0.0:2055, [::]:514.",
            valueName: "address:port"),
        transform: { text in
            guard let endpoint = try? Endpoint(parsing: text), endpoint.port != 0 else {
                throw ValidationError("'\(text)' is not ADDRESS:PORT")
            }
            return endpoint
        })
    var listen: Endpoint

    @Option(
        help: ArgumentHelp(
            "With --replace: end this process with SIGTERM, a second after the program has the slot.",
            discussion:
                "The program then runs in the background. If it ends before, the other process stays.",
            valueName: "pid"))
    var stop: Int32?

    @Option(
        help: ArgumentHelp(
            "How long after SIGTERM --stop sends SIGKILL.", valueName: "seconds"))
    var stopTimeout = 30

    @Flag(
        help: ArgumentHelp(
            "Bind the UDP socket here and pass it as LISTEN_FDS (sd_listen_fds(3)).",
            discussion: "For programs that take it, also statically linked ones."))
    var listenFds = false

    @Flag(
        help: ArgumentHelp(
            "With --listen-fds, in a systemd unit: datagrams wait in the socket while the program restarts.",
            discussion:
                "The socket is in the unit's descriptor store (FileDescriptorStoreMax=1) and holds the slot "
                + "until the unit stops or fails, which its start limit bounds."))
    var store = false

    @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("no program: -- COMMAND ...") }
        guard stop == nil || place.replace else { throw ValidationError("--stop needs --replace") }
        guard stop.map({ $0 > 1 }) ?? true else {
            throw ValidationError("--stop takes the pid of a process")
        }
        guard !store || (listenFds && !place.replace) else {
            throw ValidationError("--store needs --listen-fds, and excludes --replace")
        }
        guard (0...86_400).contains(stopTimeout) else {
            throw ValidationError("--stop-timeout takes seconds, 0 to 86400")
        }
    }

    func run() async throws {
        do {
            let program = try Program(
                command[0], searchPath: Environment["PATH"] ?? "/usr/bin:/bin")
            let preload = listenFds ? nil : try preload(for: program)
            // Opened here, so that a wrong option is reported before the program starts.
            let opened = try place.open()
            if let stop, case .number(let number) = place.slot {
                try await Replacement(
                    previous: stop, slot: number, stopTimeout: stopTimeout
                ).run(execWords, in: opened)
            } else if let preload {
                throw ThisProcess.execute(
                    program.path, command,
                    adding: Preload.environment(preload, listen: listen, adopt: adoptWords))
            } else {
                let socket = try joinedSocket(in: opened)
                throw ThisProcess.execute(
                    program.path, command, adding: [], passing: socket.descriptor)
            }
        } catch let error as ExecError {
            throw report("\(error)")
        } catch let error as SystemError {
            throw report("\(error)")
        }
    }

    private func report(_ error: String) -> ExitCode {
        StandardStream.error.write("collector: \(error)\n")
        return ExitCode(1)
    }

    private func preload(for program: Program) throws(ExecError) -> String {
        if let reason = program.refusalOfPreload() {
            throw ExecError(
                "run \(program.path)",
                "\(reason), so it loads no preload library; --listen-fds passes a socket to a program that takes "
                    + "LISTEN_FDS, collector adopt takes that of a program that sets SO_REUSEPORT")
        }
        return try Preload.find()
    }

    private func joinedSocket(in group: borrowing ReusePortGroup) throws -> ReusePortSocket {
        let manager = ServiceNotification()
        if store {
            guard manager.isManaged else {
                throw ExecError(
                    "keep the socket",
                    "there is no service manager (NOTIFY_SOCKET); leave out --store")
            }
            if let kept = keptSocket() {
                let isMember = try group.members().contains { $0.cookie == kept.cookie }
                if isMember { return kept }
                manager.forget(Self.label)
            }
        }
        let socket = try ReusePortSocket(boundTo: listen)
        let descriptor = socket.descriptor
        try place.slot.take(in: group, count: place.count) { number in
            try group.adopt(descriptor: descriptor, slot: number, replacing: place.replace)
        }
        if store { manager.keep([descriptor], as: Self.label) }
        return socket
    }

    private static let label = "reuseportlb"

    /// The socket of the program's previous run. One at another address, or in no slot any more, is not used.
    private func keptSocket() -> ReusePortSocket? {
        let kept = PassedDescriptors().all.first { $0.name == Self.label }
        guard let kept else { return nil }
        let socket = ReusePortSocket(adopting: kept.descriptor)
        return socket.endpoint == listen ? consume socket : nil
    }

    private var adoptWords: [String] { ["adopt"] + place.words }

    /// This command without --stop.
    private var execWords: [String] {
        ["collector", "exec"] + place.words + ["--listen", "\(listen)"]
            + (listenFds ? ["--listen-fds"] : []) + ["--"] + command
    }
}
