// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Logging

/// What is worth a line in the log about the receivers that were found for a listener.
struct Remark: Equatable {
    private let ready: Int
    private let terminating: Int
    private let notReady: Int
    private let unsuitable: Int
    private let surplus: Int

    init(_ choice: ReceiverChoice) {
        (ready, terminating) = (choice.ready, choice.terminating)
        (notReady, unsuitable, surplus) = (choice.notReady, choice.unsuitable, choice.surplus)
    }

    /// Says what has turned since the remark before.
    func tell(
        of listener: Listener, _ discovery: ListenerDiscovery, after before: Remark?,
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
                "\(discovery.receivers.voice): 0 ready endpoints",
                metadata: fields.merging(more) { $1 })
        } else if ready > 0, before?.ready == 0 {
            logger.info(
                "\(discovery.receivers.voice): endpoints are ready again",
                metadata: fields.merging(["ready": "\(ready)"]) { $1 })
        }
        if surplus > 0, before?.surplus ?? 0 == 0 {
            let more: Logger.Metadata = [
                "max_downstream": "\(listener.settings.maxDownstream)", "unused": "\(surplus)",
            ]
            logger.warning(
                "more receivers were found than settings.max_downstream allows",
                metadata: fields.merging(more) { $1 })
        } else if surplus == 0, before?.surplus ?? 0 > 0 {
            logger.info("all receivers that were found are used", metadata: fields)
        }
    }
}

extension DiscoverySubject {
    /// How log messages about it begin.
    public var voice: String {
        switch self {
        case .endpointSlices, .loadBalancer: "k8s discovery"
        case .file: "file discovery"
        case .dns: "dns discovery"
        case .fixed: "discovery"
        }
    }
}
