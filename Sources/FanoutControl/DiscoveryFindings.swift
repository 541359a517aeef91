// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

/// What the log reports about the receivers that were found for a listener.
struct DiscoveryFindings: Equatable {
    private let ready: Int
    private let terminating: Int
    private let notReady: Int
    private let unsuitable: Int
    private let unused: [DiscoveryReport.Unused: Int]

    /// - Parameter leftOut: how many of the chosen receivers cannot be used, by reason.
    init(_ choice: ReceiverChoice, leftOut: [DiscoveryReport.Unused: Int]?) {
        (ready, terminating) = (choice.ready, choice.terminating)
        (notReady, unsuitable) = (choice.notReady, choice.unsuitable)
        unused = choice.unused(leftOut)
    }

    /// Logs what has changed since the previous findings.
    func log(
        _ listener: Listener, _ discovery: ListenerDiscovery, after before: DiscoveryFindings?,
        _ logger: Logger
    ) {
        let fields: Logger.Metadata = [
            "listener": "\(listener.name)", "source": "\(discovery.receivers)",
        ]
        if ready == 0, before?.ready != 0 {
            let more: Logger.Metadata = [
                "terminating": "\(terminating)", "not_ready": "\(notReady)",
                "unsuitable": "\(unsuitable)",
            ]
            logger.warning(
                "\(discovery.receivers.logPrefix): 0 ready endpoints",
                metadata: fields.merging(more) { $1 })
        } else if ready > 0, before?.ready == 0 {
            logger.info(
                "\(discovery.receivers.logPrefix): endpoints are ready again",
                metadata: fields.merging(["ready": "\(ready)"]) { $1 })
        }
        for reason in DiscoveryReport.Unused.allCases {
            if let count = unused[reason], count > 0, before?.unused[reason] ?? 0 == 0 {
                let more = reason.advice(for: listener).merging(["unused": "\(count)"]) { $1 }
                logger.warning("\(reason.sentence)", metadata: fields.merging(more) { $1 })
            }
        }
        if before?.usesAll == false, usesAll {
            logger.info("all receivers that were found are used", metadata: fields)
        }
    }

    private var usesAll: Bool { unused.values.allSatisfy { $0 == 0 } }
}

extension DiscoveryReport.Unused {
    fileprivate var sentence: String {
        switch self {
        case .surplus: "more receivers were found than settings.max_downstream allows"
        case .loop: "receivers that discovery found form a forwarding loop, and are not used"
        case .shared:
            "receivers that were found would answer for two listeners or ports, and are not used"
        case .unsuitable: "receivers that were found do not suit the listener, and are not used"
        }
    }

    fileprivate func advice(for listener: Listener) -> Logger.Metadata {
        switch self {
        case .surplus: ["max_downstream": "\(listener.settings.maxDownstream)"]
        case .loop: ["remedy": "remove the listeners of this daemon from the source"]
        case .shared:
            [
                "remedy":
                    """
                remove receivers that several listeners of mode xdp_nat share, and ports of \
                receivers of a listener of several ports
                """
            ]
        case .unsuitable:
            ["remedy": "bind the listener to their address family, and set the port that they have"]
        }
    }
}

extension DiscoverySubject {
    /// The name of its kind in log messages.
    var kind: String {
        switch self {
        case .endpointSlices, .loadBalancer: "k8s"
        case .file: "file"
        case .dns: "dns"
        case .fixed: "fixed"
        }
    }

    /// The prefix of log messages about it.
    var logPrefix: String { kind == "fixed" ? "discovery" : "\(kind) discovery" }
}
