// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Glibc
internal import Measure

/// One sender that floods several labs alternately.
struct LabFlood {
    /// The CPU of the sender and of all kernel work on the path.
    let cpu: Int
    /// The warm-up of each lab before its first turn, in ms.
    let warmUp: Int
    /// The number of turns of each lab, and the ms of a turn.
    let turns: Int
    let milliseconds: Int

    /// Floods them and returns the counts in their order.
    func counts(of labs: [VethLab]) throws -> [LabRates.Flood] {
        let lanes = labs.map(\.lane)
        var counts = [lab_count](repeating: lab_count(), count: labs.count)
        var turns = lab_cases(
            cpu: Int32(cpu), warm_up: Int32(warmUp), turns: Int32(turns),
            milliseconds: Int32(milliseconds))
        let result = lab_flood(lanes, Int32(labs.count), &turns, &counts)
        guard result == 0 else {
            throw Trouble("flood the labs of veths: \(String(cString: strerror(-result)))")
        }
        return counts.map {
            LabRates.Flood(
                nanoseconds: Int($0.nanoseconds), arrived: Int($0.arrived),
                sentInAll: Int($0.sent_in_all), arrivedInAll: Int($0.arrived_in_all))
        }
    }
}
