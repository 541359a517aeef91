// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import HostNetwork
package import XDPSockets

extension AFXDPPlane {
    public func queueCounters() -> [QueueCounters] {
        served.values.flatMap { interface in
            interface.workers.map { worker in
                var result = QueueCounters(
                    interface: interface.interface.name, queue: worker.queue.queue)
                result.receiveRingEmpty = worker.counts[.receiveRingEmpty]
                result.fillRingFull = worker.counts[.fillRingFull]
                result.framesExhausted = worker.counts[.framesExhausted]
                result.parseErrors = worker.counts[.parseErrors]
                result.kernelSends = worker.counts[.kernelSends]
                result.kernel = worker.statistics.events
                return result
            }
        }
    }

    /// Where the frames of each worker are; for tests of the accounting.
    package func censuses() -> [FrameCensus] {
        served.values.flatMap { $0.workers.map { $0.census() } }
    }
}

extension XDPStatistics {
    fileprivate var events: [QueueCounters.KernelEvent: UInt64] {
        let pairs = QueueCounters.KernelEvent.allCases.map { event in
            let count =
                switch event {
                case .receiveDropped: receiveDropped
                case .receiveRingFull: receiveRingFull
                case .fillRingEmpty: fillRingEmpty
                case .receiveInvalid: receiveInvalid
                case .transmitInvalid: transmitInvalid
                case .transmitRingEmpty: transmitRingEmpty
                }
            return (event, count)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}
