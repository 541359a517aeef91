// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// The machine of the measurement.
struct Machine {
    /// The CPUs that this process may use, in order.
    let cpus: [Int]

    /// The CPU of the forwarder.
    var forwarderCPU: Int { cpus[0] }
    /// The CPU of the sender: another one where there is one.
    var senderCPU: Int { cpus.count > 1 ? cpus[1] : cpus[0] }

    init() throws {
        let line = try Self.read("/proc/self/status").split(separator: "\n")
            .first { $0.hasPrefix("Cpus_allowed_list:") }
        // Such as 0-3,8.
        let ranges = line?.split(whereSeparator: \.isWhitespace).last?.split(separator: ",") ?? []
        cpus = ranges.flatMap { range -> [Int] in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
        guard !cpus.isEmpty else { throw Trouble("/proc/self/status names no CPU") }
    }

    /// The facts on which the figures depend, for the page.
    func facts(folder: URL) -> [(name: String, value: String)] {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: &system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let architecture = withUnsafeBytes(of: &system.machine) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let model = (try? Self.read("/proc/cpuinfo"))?.split(separator: "\n")
            .first { $0.hasPrefix("model name") }?
            .split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
        let day = Date.now.formatted(.iso8601.year().month().day())
        let compiler = firstLine(of: ["swift", "--version"], folder: folder)
        return [
            ("date", day), ("CPU", "\(model ?? "unknown"), \(architecture)"),
            ("cores", "\(cpus.count)"), ("kernel", "Linux \(kernel)"),
            ("compiler", compiler ?? "unknown"),
        ]
    }

    private func firstLine(of command: [String], folder: URL) -> String? {
        let text = try? Child(command, cpu: nil, folder: folder).result(within: 20)
        return text.flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\n").first }
            .map(String.init)
    }

    private static func read(_ path: String) throws -> String {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw Trouble("cannot read \(path)")
        }
        defer { try? handle.close() }
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }
}
