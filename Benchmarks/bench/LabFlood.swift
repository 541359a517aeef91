// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Glibc
internal import Measure

/// One sender that floods several labs in turn.
struct LabFlood {
    /// The sender's, and that of all the kernel does on the way.
    let cpu: Int
    /// Of each lab, in ms, before the first turn.
    let warmUp: Int
    /// How many turns each lab has, and how many ms each lasts.
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
