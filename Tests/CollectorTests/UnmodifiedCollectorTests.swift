// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("Debian's collectors, unmodified")
    struct UnmodifiedCollectorTests {}
}

/// A collector of a Debian package, and a sender for it.
private enum Product: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case nfcapd, nfacctd, rsyslogd

    static let port: UInt16 = 2055
    /// Records that an exporter sends at a time: one NetFlow datagram, or as many syslog datagrams.
    static let records = 24

    var testDescription: String { rawValue }

    /// The command, which keeps its files in the folder.
    func command(_ folder: String) throws -> [String] {
        let config = folder + "/config"
        let text: String
        switch self {
        case .nfcapd: return ["nfcapd", "-p", "\(Self.port)", "-w", folder]
        case .nfacctd:
            text = """
                daemonize: false
                nfacctd_ip: 0.0.0.0
                nfacctd_port: \(Self.port)
                nfacctd_disable_checks: true
                plugins: print
                aggregate: peer_src_ip, src_port
                print_output: csv
                print_output_file: \(folder)/output
                print_output_file_append: true
                print_refresh_time: 1

                """
        case .rsyslogd:
            text = """
                module(load="imudp")
                input(type="imudp" address="0.0.0.0" port="\(Self.port)")
                template(name="t" type="string" string="%fromhost-ip%,%msg%\\n")
                action(type="omfile" file="\(folder)/output" template="t")

                """
        }
        try text.write(toFile: config, atomically: false, encoding: .utf8)
        return self == .nfacctd
            ? ["nfacctd", "-f", config] : ["rsyslogd", "-n", "-f", config, "-i", folder + "/pid"]
    }

    /// Sends the records of a round to an address, which decides the source.
    func send(_ round: Int, to destination: String, _ folder: ScratchFolder) async throws {
        let numbers = (0..<Self.records).map { Self.number(round, $0) }
        let name = "round-\(round)"
        let words: [String]
        if self == .rsyslogd {
            let lines = numbers.map { "\($0)\n" }.joined()
            let file = try folder.write(lines, to: name)
            words = [
                "logger", "-d", "--rfc3164", "-n", destination, "-P", "\(Self.port)", "-f", file,
            ]
        } else {
            let file = try folder.write(Capture.ofFlows(from: numbers), to: name)
            words = ["softflowd", "-r", file, "-v", "5", "-d", "-n", "\(destination):\(Self.port)"]
        }
        let process = try ChildProcess(words[0], Array(words.dropFirst()))
        #expect(try await process.exit() == .exited(0), "\(process.record.state.errors)")
    }

    /// The number of a record, which serves as source port of a flow.
    static func number(_ round: Int, _ index: Int) -> Int { 1000 + round * records + index }

    /// What a collector that has ended wrote: the records' numbers by source.
    func received(in folder: String) async throws -> [String: Set<Int>] {
        let text: String
        switch self {
        case .nfcapd:
            let process = try ChildProcess(
                "nfdump", ["-R", folder, "-q", "-N", "-o", "fmt:%ra,%sp"])
            _ = try await process.exit()
            text = process.record.state.output.joined(separator: "\n")
        case .nfacctd, .rsyslogd:
            text = (try? String(contentsOfFile: folder + "/output", encoding: .utf8)) ?? ""
        }
        var result: [String: Set<Int>] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: ",").map { $0.filter { $0 != " " } }
            if words.count >= 2, let number = Int(words[1]) {
                result[words[0], default: []].insert(number)
            }
        }
        return result
    }
}

/// A capture file (pcap) of UDP packets, for softflowd.
private enum Capture {
    /// A packet from each of these ports, 192.0.2.1 to 198.51.100.1 port 53.
    static func ofFlows(from ports: [Int]) -> [UInt8] {
        func little(_ words: [UInt32]) -> [UInt8] {
            words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
        }
        var file = little([0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1])
        for port in ports {
            let ethernet: [UInt8] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]
            let ip: [UInt8] = [
                0x45, 0, 0, 36, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1,
            ]
            let udp: [UInt8] = [UInt8(port >> 8), UInt8(port & 0xff), 0, 53, 0, 16, 0, 0]
            let packet = ethernet + ip + udp + [UInt8](repeating: 0, count: 8)
            file += little([1_700_000_000, 0, UInt32(packet.count), UInt32(packet.count)]) + packet
        }
        return file
    }
}

extension CollectorTests.UnmodifiedCollectorTests {
    private static let exporters = 6

    /// A host where each exporter has an address, which is the source of what is sent to another address.
    private static let host =
        ["link set lo up"]
        + (1...exporters).flatMap { number in
            [
                "addr add 10.9.0.\(number)/32 dev lo",
                "route add local 10.9.1.\(number) dev lo src 10.9.0.\(number) table local",
            ]
        }

    /// Three collectors, and the folders of all that have run in each slot.
    private final class Site {
        let product: Product
        let folder: ScratchFolder
        private(set) var running: [ChildProcess] = []
        private(set) var folders: [[String]] = [[], [], []]
        private(set) var rounds = 0

        init(_ product: Product) throws {
            self.product = product
            folder = try ScratchFolder()
        }

        func exec(_ slot: Int, _ flags: [String] = []) throws -> ChildProcess {
            let own = folder.path("\(slot)-\(folders[slot].count)")
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            folders[slot].append(own)
            return try ChildProcess(
                Files.product("collector"),
                ["exec", "--group", "g", "--count", "3", "--slot", "\(slot)"] + flags
                    + ["--listen", "0.0.0.0:\(Product.port)", "--"] + product.command(own))
        }

        func start(_ slot: Int) async throws {
            let process = try exec(slot)
            if slot < running.count { running[slot] = process } else { running.append(process) }
            try await eventually("it is in slot \(slot)") {
                try await Self.pids().dropFirst(slot).first == process.pid
            }
        }

        static func pids() async throws -> [Int32?] {
            let run = try await CollectorUnderTest.run(["status", "g", "--json"])
            // The first one mounts the file system and creates the group.
            guard run.code == 0 else { return [] }
            let report = try JSONDecoder().decode(
                StatusReport.self, from: Data(run.output.joined().utf8))
            return report.groups.first?.slots?.map { $0.members.first?.pid } ?? []
        }

        /// Each exporter sends one round.
        func send() async throws {
            for exporter in 1...CollectorTests.UnmodifiedCollectorTests.exporters {
                try await product.send(rounds, to: "10.9.1.\(exporter)", folder)
            }
            rounds += 1
        }

        /// Waits until the collectors have read their sockets.
        func isRead() async throws {
            try await eventually("the queues are empty") {
                let table = try String(contentsOfFile: "/proc/thread-self/net/udp", encoding: .utf8)
                return table.split(separator: "\n").dropFirst().allSatisfy { line in
                    line.split(separator: " ")[4].hasSuffix(":00000000")
                }
            }
        }

        /// The slots that have received all records of a round from an exporter, by round.
        func homes() async throws -> [String: [[Int]]] {
            var homes: [String: [[Int]]] = [:]
            for (slot, folders) in folders.enumerated() {
                var all: [String: Set<Int>] = [:]
                for folder in folders {
                    all.merge(try await product.received(in: folder)) { $0.union($1) }
                }
                for (source, numbers) in all {
                    for round in 0..<rounds {
                        let wanted = Set((0..<Product.records).map { Product.number(round, $0) })
                        guard !numbers.isDisjoint(with: wanted) else { continue }
                        let isWhole = numbers.isSuperset(of: wanted)
                        #expect(isWhole, "\(source), round \(round), slot \(slot)")
                        homes[source, default: Array(repeating: [], count: rounds)][round]
                            .append(slot)
                    }
                }
            }
            return homes
        }
    }

    @Test(
        "three on one port: each exporter stays with one, over kill -9, return and a rolling restart",
        arguments: Product.allCases)
    private func shared(_ product: Product) async throws {
        try await Namespace.withOwnMounts(Self.host) {
            let site = try Site(product)
            for slot in 0..<3 { try await site.start(slot) }
            try await site.send()
            try await site.isRead()
            site.running[1].send(SIGKILL)
            // A plugin process of nfacctd goes on for a moment.
            try await eventually("the slot is empty") { try await Site.pids()[1] == nil }
            try await site.send()
            try await site.start(1)
            try await site.send()

            // Rounds are sent while one after another is replaced.
            var successors: [ChildProcess] = []
            for slot in 0..<3 {
                let previous = site.running[slot]
                // nfacctd 1.7.7 blocks SIGTERM; it has written its records long before SIGKILL.
                let run = try site.exec(
                    slot, ["--replace", "--stop", "\(previous.pid)", "--stop-timeout", "2"])
                successors.append(run)
                while run.record.state.ending == nil, !run.record.state.open.isEmpty,
                    previous.record.state.ending == nil
                {
                    try await site.send()
                }
                _ = try await previous.record.wait("the old one ends") { $0.ending }
            }
            try await site.send()
            try await site.isRead()
            for pid in try await Site.pids().compactMap({ $0 }) {
                kill(pid, product == .nfacctd ? SIGINT : SIGTERM)
            }
            for run in successors {
                try await run.record.wait("the collector has ended") {
                    $0.open.isEmpty ? true : nil
                }
            }

            let homes = try await site.homes()
            #expect(homes.count == Self.exporters)
            var orphans = 0
            for (source, slots) in homes {
                let home = slots[2]
                #expect(home.count == 1, "\(source): \(slots)")
                orphans += home == [1] ? 1 : 0
                for (round, slots) in slots.enumerated() {
                    // A killed collector may not have written what it received.
                    if home == [1], round == 0 { continue }
                    if home == [1], round == 1 {
                        #expect(slots == [0] || slots == [2], "\(source): \(slots)")
                    } else {
                        #expect(slots == home, "\(source), round \(round): \(slots)")
                    }
                }
            }
            #expect((1..<Self.exporters).contains(orphans))
            #expect(site.rounds > 6)
        }
    }
}
