// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The table of refusals", .tags(.unit))
struct RefusalTableTests {
    /// Listeners whose receivers are sent datagrams and refuse some, in intervals of one second.
    private struct Course {
        var table = RefusalTable()
        let listeners: [Listener]
        var counters: [ListenerCounters]
        var time = ContinuousClock.now

        init(_ policy: HealthPolicy, _ receivers: [[UInt32]]) {
            listeners = receivers.enumerated().map { index, hosts in
                Listener(
                    name: "l\(index)", bind: RefusalTableTests.endpoint(0, UInt16(500 + index)),
                    downstreams: hosts.map {
                        Downstream(name: "r\($0)", endpoint: RefusalTableTests.endpoint($0))
                    })
            }
            counters = listeners.map { listener in
                var counters = ListenerCounters(listener: listener.name, mode: .userspace)
                counters.downstreams = listener.downstreams.map(DownstreamCounters.init)
                return counters
            }
            table.follow(policy, DesiredState(listeners: listeners))
            _ = table.note(counters, at: time)
        }

        /// An interval in which a receiver of the first listener was sent something, or nothing, and refused it or not.
        mutating func interval(
            _ receiver: Int = 0, sent: UInt64 = 10, refused: UInt64 = 0, of listener: Int = 0
        ) -> [HealthStatus.Change] {
            counters[listener].downstreams[receiver].packetsForwarded += sent
            counters[listener].downstreams[receiver].refusals += refused
            time += .seconds(1)
            return table.note(counters, at: time)?.map(\.change) ?? []
        }
    }

    private static func endpoint(_ host: UInt32, _ port: UInt16 = 9) -> Endpoint {
        Endpoint(IPAddress(v4: 0x0a00_0000 + host), port: port)
    }

    private static let policy = HealthPolicy(interval: .seconds(1), rise: 2, fall: 3)

    @Test("fall intervals with a refusal take a receiver out, rise without one bring it back")
    func thresholds() {
        var course = Course(Self.policy, [[1, 2]])
        #expect(course.interval(refused: 1) == [])
        #expect(course.interval(refused: 9) == [])
        #expect(course.interval(refused: 1) == [.unhealthy])
        #expect(course.table.refusing == [Self.endpoint(1)])
        #expect(course.table.healthStatuses == [Self.endpoint(1): false, Self.endpoint(2): true])
        // The refusal of what was sent at the end of an interval comes in the next one.
        #expect(course.interval(sent: 1) == [])
        #expect(course.interval(sent: 1) == [])
        #expect(course.interval(sent: 1) == [.healthy])
        #expect(course.table.refusing == [])
    }

    @Test("an interval without a refusal breaks the row")
    func row() {
        var course = Course(Self.policy, [[1]])
        for _ in 0..<4 {
            _ = course.interval(refused: 1)
            _ = course.interval(refused: 1)
            _ = course.interval()
        }
        #expect(course.table.refusing == [])
    }

    @Test("an interval in which nothing is sent says nothing")
    func silence() {
        var course = Course(Self.policy, [[1]])
        for _ in 0..<2 { _ = course.interval(refused: 1) }
        for _ in 0..<5 { #expect(course.interval(sent: 0) == []) }
        #expect(course.interval(refused: 1) == [.unhealthy])
        for _ in 0..<5 { #expect(course.interval(sent: 0) == []) }
        #expect(course.table.refusing == [Self.endpoint(1)])
    }

    @Test("a trial that is refused, at once or in the next interval, is a failure")
    func trials() {
        var course = Course(Self.policy, [[1]])
        for _ in 0..<3 { _ = course.interval(refused: 1) }
        for _ in 0..<3 {
            #expect(course.interval(sent: 1, refused: 1) == [])
            #expect(course.interval(sent: 1) == [])
            #expect(course.interval(sent: 0, refused: 1) == [])
        }
        #expect(course.table.refusing == [Self.endpoint(1)])
    }

    @Test("less than an interval is not judged")
    func early() {
        var course = Course(Self.policy, [[1]])
        for _ in 0..<3 {
            course.counters[0].downstreams[0].refusals += 1
            course.time += .milliseconds(300)
            #expect(course.table.note(course.counters, at: course.time) == nil)
        }
        course.time += .milliseconds(100)
        #expect(course.table.note(course.counters, at: course.time) == [])
    }

    @Test("listeners that share a receiver share its status, and all are reported")
    func shared() {
        var course = Course(Self.policy, [[1], [1, 2]])
        _ = course.interval(refused: 1)
        _ = course.interval(refused: 1, of: 1)
        course.counters[0].downstreams[0].refusals += 1
        course.time += .seconds(1)
        let events = course.table.note(course.counters, at: course.time) ?? []
        #expect(events.map { $0.users.map(\.listener) } == [["l0", "l1"]])
    }

    @Test(
        "a reload keeps the status, a new receiver is healthy, and without a policy nothing is out")
    func follow() {
        var course = Course(Self.policy, [[1, 2]])
        for _ in 0..<3 { _ = course.interval(refused: 1) }
        var listener = course.listeners[0]
        listener.downstreams[1] = Downstream(name: "new", endpoint: Self.endpoint(3))
        course.table.follow(Self.policy, DesiredState(listeners: [listener]))
        #expect(course.table.healthStatuses == [Self.endpoint(1): false, Self.endpoint(3): true])
        course.table.follow(nil, DesiredState(listeners: [listener]))
        #expect(course.table.refusing == [] && course.table.healthStatuses == [:])
        #expect(course.table.note(course.counters, at: course.time + .seconds(9)) == nil)
    }

    @Test("a receiver known to be out before the first look stays out until it proves itself")
    func assumed() {
        var table = RefusalTable()
        let course = Course(Self.policy, [[1, 2]])
        table.follow(
            Self.policy, DesiredState(listeners: course.listeners), assuming: [Self.endpoint(2)])
        #expect(table.refusing == [Self.endpoint(2)])
    }

    @Test("when all refuse, all are used")
    func all() {
        let listener = Course(Self.policy, [[1, 2]]).listeners[0]
        func view(_ refusing: Set<Endpoint>, _ others: Set<Endpoint> = []) -> HealthView {
            HealthView(unhealthy: refusing.union(others), refusing: refusing)
        }
        let (one, two) = (Self.endpoint(1), Self.endpoint(2))
        #expect(view([one, two]).opens(listener))
        #expect(!view([one]).opens(listener))
        #expect(!view([one], [two]).opens(listener), "probes say that one is down")
        let state = DesiredState(listeners: [listener])
        #expect(state.applying(view([one, two])) == state)
        #expect(
            state.applying(view([one])).listeners[0].downstreams.map(\.isEnabled) == [false, true])
    }
}
