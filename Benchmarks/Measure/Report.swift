// SPDX-License-Identifier: Apache-2.0

/// The tables of a run, in Markdown that also reads well on a terminal.
public struct Report: Sendable {
    /// One result a workload.
    public let cases: [CaseResult]
    /// What the daemon needs besides CPU time; nil when only the references ran.
    public let footprint: Footprint?
    /// What ReusePortLB costs; nil when it was not measured.
    public let steering: Steering?
    /// What the program of `tc_ebpf` costs; nil when it was not measured.
    public let forwarding: Forwarding?
    /// What mode `tc_ebpf` delivers in a lab of veths; nil when it was not measured.
    public let lab: LabRates?
    /// What the program of `xdp_nat` costs; nil when it was not measured.
    public let translation: Translation?
    /// What is forwarded of XDP frames over veths; nil when it was not measured.
    public let wire: WireRates?
    /// What is translated of them; nil when it was not measured.
    public let nat: NATRates?

    /// - Parameters: as the properties.
    public init(
        cases: [CaseResult], footprint: Footprint?, steering: Steering? = nil,
        forwarding: Forwarding? = nil, lab: LabRates? = nil, translation: Translation? = nil,
        wire: WireRates? = nil, nat: NATRates? = nil
    ) {
        self.cases = cases
        self.footprint = footprint
        self.steering = steering
        self.forwarding = forwarding
        self.lab = lab
        self.translation = translation
        self.wire = wire
        self.nat = nat
    }

    /// A table for each part that was measured.
    public var tables: [String] {
        [
            cases.isEmpty ? nil : costTable, footprintTable, steeringTable, forwardingTable,
            labTable, wireTable, afxdpTable, translationTable, natTable,
        ].compactMap(\.self)
    }

    /// CPU ns a datagram, medians over the rounds, and what they mean for the promise.
    public var costTable: String {
        let rows = cases.map { result -> [String] in
            let costs = Forwarder.allCases.map { forwarder in
                result.cost(of: forwarder).map { $0.median.rounded(to: 0) } ?? "-"
            }
            let delivered = Forwarder.allCases.reduce(0) { $0 + result.delivered(by: $1) }
            let workload = result.workload
            let input = [
                workload.input.rawValue, "\(workload.payload) B", "\(workload.receivers)",
            ]
            return input + costs + [
                result.ratio.map(Self.text) ?? "-",
                "≤ \(workload.promisedRatio.rounded(to: 2))",
                result.ratio.map { $0.median <= workload.promisedRatio ? "met" : "missed" }
                    ?? "-",
                "\(delivered)",
            ]
        }
        return Self.table(
            ["input", "payload", "receivers"] + Forwarder.allCases.map(\.rawValue) + [
                "ratio (min–max)", "promise", "", "delivered",
            ], rows)
    }

    /// Memory and start-up time against the promise; nil when only the references ran.
    public var footprintTable: String? {
        footprint.map { footprint in
            Self.table(
                ["figure", "measured", "promise", ""],
                [
                    [
                        "resident memory after load, defaults",
                        "\(footprint.residentMebibytes.rounded(to: 1)) MiB",
                        "≤ \(Footprint.residentPromise.rounded(to: 0)) MiB",
                        footprint.residentMebibytes <= Footprint.residentPromise
                            ? "met" : "missed",
                    ],
                    [
                        "exec to first datagram forwarded",
                        "\(Self.text(footprint.startMilliseconds)) ms",
                        "≤ \(Footprint.startPromise.rounded(to: 0)) ms",
                        footprint.startMilliseconds.median <= Footprint.startPromise
                            ? "met" : "missed",
                    ],
                ])
        }
    }

    /// What ReusePortLB costs against the promise; nil when it was not measured.
    public var steeringTable: String? {
        steering.map { steering in
            let programs = steering.programs.map { program in
                let net = (program.cost.least - program.empty.least).rounded(to: 0)
                let bare = (program.bare.least - program.empty.least).rounded(to: 0)
                return [
                    "program, \(program.name) (\(program.verified) instructions verified)",
                    "\(program.ratio.rounded(to: 2)) (\(net) ns / \(bare) ns)",
                    "≤ \(program.promise.rounded(to: 1))",
                    program.ratio <= program.promise ? "met" : "missed",
                ]
            }
            return Self.table(
                ["ReusePortLB, ratio", "measured", "promise", ""],
                programs + [
                    [
                        "received by two collectors, with the program to without",
                        Self.text(steering.received),
                        "≥ \(Steering.receivedPromise.rounded(to: 2))",
                        steering.received.median >= Steering.receivedPromise ? "met" : "missed",
                    ],
                    [
                        "receiving trains of 64 datagrams, merged to one by one",
                        "\(steering.mergedRatio.rounded(to: 2)) "
                            + "(\(steering.together.least.rounded(to: 0)) ns / "
                            + "\(steering.apart.least.rounded(to: 0)) ns)",
                        "≤ \(Steering.mergedPromise.rounded(to: 1))",
                        steering.mergedRatio <= Steering.mergedPromise ? "met" : "missed",
                    ],
                ])
        }
    }

    static func text(_ spread: Spread) -> String {
        "\(spread.median.rounded(to: 2)) "
            + "(\(spread.least.rounded(to: 2))–\(spread.most.rounded(to: 2)))"
    }

    static func table(_ head: [String], _ rows: [[String]]) -> String {
        let widths = head.indices.map { column in
            max(3, ([head] + rows).map { $0[column].count }.max() ?? 0)
        }
        func line(_ cells: [String]) -> String {
            let padded = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.map { String(repeating: "-", count: $0) }
        return ([line(head), line(rule)] + rows.map(line)).joined(separator: "\n")
    }
}
