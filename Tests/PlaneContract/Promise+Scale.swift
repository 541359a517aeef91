// SPDX-License-Identifier: Apache-2.0

import FanoutCore

extension Promise {
    /// The limit is for an optimised build on an idle machine; without optimisation the table alone takes ten times as
    /// long.
    #if DEBUG
        private static let patience = Duration.seconds(5)
    #else
        private static let patience = Duration.milliseconds(50)
    #endif

    static let scale: [Promise] = [
        Promise("a change of 1 000 receivers is active in 50 ms") { stage in
            let sink = try stage.makeSink(.v4, false)
            let settings = ListenerSettings(maxDownstream: 1024, workers: 1)
            func receivers(from first: UInt16) -> [Downstream] {
                (0..<1000).map { number in
                    Downstream(
                        name: "r\(number)",
                        endpoint: Endpoint(sink.endpoint.address, port: first + number))
                }
            }
            var listener = try stage.listener(
                "in", .sourceIP, to: receivers(from: 20_000), settings: settings)
            let rig = try await stage.rig([listener])
            var times: [Duration] = []
            for round in 1...5 {
                listener.downstreams = receivers(from: 20_000 + UInt16(round) * 500)
                let next = listener
                times.append(
                    try await ContinuousClock().measure { try await rig.apply([next]) })
            }
            let median = times.sorted()[times.count / 2]
            try claim(median <= patience, "a change took \(times)")
            await rig.stop()
        }
    ]
}
