// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// One program that the bench started; it ends with the last reference to it.
final class Child {
    /// The process, which is the program itself: its launchers exec.
    let pid: pid_t
    private let name: String
    private let output: URL
    private let errors: URL

    /// Starts a program that dies with this one.
    ///
    /// - Parameters:
    ///   - command: the program and its arguments.
    ///   - cpu: the CPU that it may use; nil for all.
    ///   - folder: where its output goes.
    ///   - launcher: a command that execs what follows it, such as `nice`.
    init(_ command: [String], cpu: Int?, folder: URL, launcher: [String] = []) throws {
        name = URL(filePath: command[0]).lastPathComponent
        let stem = folder.appending(path: "\(name)-\(UUID().uuidString)")
        output = stem.appendingPathExtension("out")
        errors = stem.appendingPathExtension("err")
        // These programs of util-linux exec their command, so the pid stays the same.
        var launchers = ["setpriv", "--pdeathsig", "TERM"]
        if let cpu { launchers += ["taskset", "-c", "\(cpu)"] }
        let descriptors = [output, errors].map {
            open($0.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        }
        defer { descriptors.forEach { close($0) } }
        guard descriptors.allSatisfy({ $0 >= 0 }) else { throw Trouble("cannot write \(stem)") }
        pid = try Children.start(
            launchers + launcher + command, output: descriptors[0], errors: descriptors[1])
    }

    deinit {
        end()
    }

    /// Ends the program if it still runs.
    func end() {
        Children.end(pid)
    }

    /// Its standard output, once it has ended with status 0.
    func result(within seconds: Double) throws -> Data {
        var status: Int32?
        try wait(seconds, for: "the end of \(name)") {
            status = Children.reap(pid)
            return status != nil
        }
        guard status == 0 else { throw Trouble("\(name) failed: \(said)") }
        return try Data(contentsOf: output)
    }

    /// Waits until the program has done something.
    ///
    /// - Parameter what: such as "to bind port 53".
    func wait(_ what: String, _ done: () throws -> Bool) throws {
        try wait(10, for: "\(name) \(what)") {
            if Children.reap(pid) != nil { throw Trouble("\(name) ended early: \(said)") }
            return try done()
        }
    }

    /// Returns once the program has a UDP socket bound to the port.
    func waitUntilBound(to port: Int) throws {
        let pattern = ":" + Self.hexadecimal(port)
        try wait("to bind port \(port)") {
            try ["/proc/net/udp", "/proc/net/udp6"].contains { table in
                // Columns: slot, local address, remote address, …
                try Self.read(table).split(separator: "\n").dropFirst().contains { line in
                    let columns = line.split(separator: " ")
                    return columns.count > 1 && columns[1].hasSuffix(pattern)
                }
            }
        }
    }

    /// Resident memory in KiB: VmRSS of /proc/PID/status and, which that leaves out, HugetlbPages.
    func residentKibibytes() throws -> Int {
        let status = try Self.read("/proc/\(pid)/status").split(separator: "\n")
        func value(_ key: String) -> Int? {
            let line = status.first { $0.hasPrefix("\(key):") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
        }
        guard let resident = value("VmRSS") else {
            throw Trouble("\(name) has no VmRSS; it ended: \(said)")
        }
        return resident + (value("HugetlbPages") ?? 0)
    }

    /// The end of its standard error.
    private var said: String {
        let text = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
        return text.isEmpty ? "it said nothing" : String(text.suffix(600))
    }

    private func wait(_ seconds: Double, for what: String, _ done: () throws -> Bool) throws {
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(seconds)
        while try !done() {
            guard clock.now < deadline else { throw Trouble("waited in vain for \(what): \(said)") }
            usleep(1000)
        }
    }

    private static func read(_ path: String) throws -> String {
        // Files of /proc have no length, which String(contentsOfFile:) relies on.
        guard let handle = FileHandle(forReadingAtPath: path) else { return "" }
        defer { try? handle.close() }
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }

    private static func hexadecimal(_ port: Int) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
