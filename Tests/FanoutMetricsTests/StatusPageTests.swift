// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Foundation
import Testing
import Tiers

@Suite("the status page", .tags(.unit))
struct StatusPageTests {
    /// A listener with active receivers: the second is drained and the third fails its probes.
    static func snapshot(receivers: Int = 3) -> DaemonSnapshot {
        var counters = ListenerCounters.sample("syslog", downstreams: receivers)
        for index in counters.downstreams.indices {
            counters.downstreams[index].packetsForwarded = UInt64(1000 * (index + 1))
            counters.downstreams[index].weight = index == 1 ? 0 : 1
            counters.downstreams[index].isReady = index == 0 || index > 2
        }
        var snapshot = DaemonSnapshot.of([counters])
        snapshot.health?.healthStatuses = [Downstream.numbered(2).endpoint: false]
        snapshot.drains = DrainList([.init(listener: "syslog", downstream: "r1")])
        snapshot.active = [
            Listener(
                name: "syslog", bind: .loopback(514), balance: .sourceIP, downstreams: [],
                interface: "eth7")
        ]
        snapshot.uptime = .seconds(3_600 * 5 + 60 * 7)
        // Over two seconds 12 345 a second are forwarded, 77 of them to the first receiver.
        let time = ContinuousClock.now
        for count in [UInt64(0), 1] {
            var counters = counters
            counters.packetsForwarded = 24_690 * count
            counters.downstreams[0].packetsForwarded = 154 * count
            snapshot.meter.note([counters], at: time + .seconds(2 * count))
            snapshot.history.note([counters], at: time + .seconds(2 * count))
        }
        return snapshot
    }

    private func page(
        _ snapshot: DaemonSnapshot = snapshot(), _ target: String = "/",
        metrics: String = "/metrics"
    ) async throws -> Reply {
        try await withServer(path: metrics, snapshot: { snapshot }) {
            try RawClient(port: $0).get(target)
        }
    }

    @Test("it is HTML at the root, and says what listens, who receives and what was dropped")
    func content() async throws {
        let reply = try await page()
        #expect(reply.status == 200)
        #expect(reply.header("content-type") == "text/html; charset=utf-8")
        for words in [
            "udp-fanout", "1.2.3", "5 h 7 min", "syslog", "127.0.0.1:514", "source_ip", "on eth7",
            "userspace", "no_healthy", "no_buffers", "1 of 3 ready", "127.0.0.1:1002",
            "The last reload failed", "12.3\u{202f}k",
        ] {
            #expect(reply.text.contains(words), "\(words)")
        }
        #expect(!reply.text.contains("would_block"), "a reason that never came up is left out")
    }

    @Test("it opens with the rates of the last seconds and the charts of the last minutes")
    func history() async throws {
        let text = try await page().text
        #expect(text.contains("<td class=\"number rate\">77</td>"), "of a receiver")
        let points = text.matches(of: /data-rates="([^"]*)"/).map { String($0.output.1) }
        try #require(points.count == 2, "of all listeners together, and of the one")
        for json in points {
            let rows = try JSONDecoder().decode([[Double]].self, from: Data(json.utf8))
            #expect(rows.map { Array($0.dropFirst()) } == [[0, 12_345, 0]])
        }
    }

    @Test("of many listeners it brings the history of the sum alone")
    func histories() async throws {
        var snapshot = Self.snapshot()
        snapshot.listeners = (0..<100).map { .sample("l\($0)") }
        let text = try await page(snapshot).text
        let points = text.matches(of: /data-rates="([^"]*)"/).map { String($0.output.1) }
        #expect(points.count == 101)
        #expect(points.filter { $0 != "[]" }.count == 1)
    }

    @Test("several ports of a listener are all shown")
    func ports() async throws {
        var snapshot = Self.snapshot()
        snapshot.active = [
            Listener(
                name: "syslog", bind: .loopback(514), mode: .xdpNAT, balance: .sourceIP,
                downstreams: [], interface: "eth7", nat: NATSettings(furtherPorts: [515, 601]))
        ]
        #expect(try await page(snapshot).text.contains("127.0.0.1:514,515,601"))
    }

    @Test("without scripts it is a table: receiver, state, share, forwarded, dropped")
    func table() async throws {
        let text = try await page().text
        let rows = text.components(separatedBy: "<tr>").filter { $0.contains("class=\"address\"") }
        #expect(rows.count == 3)
        let expected = [
            ("r0", "ready", "33.3", "1\u{202f}000"), ("r1", "drained", "66.7", "2\u{202f}000"),
            ("r2", "unhealthy", "100.0", "3\u{202f}000"),
        ]
        for (row, wanted) in zip(rows, expected) {
            #expect(row.contains(">\(wanted.0)") && row.contains(">\(wanted.1)<"), "\(row)")
            #expect(row.contains("width=\"\(wanted.2)\""), "\(row)")
            #expect(row.contains(">\(wanted.3)<"), "\(row)")
        }
        // What stands there for the script alone is hidden unless one runs; it is the first thing it does.
        #expect(text.contains("html:not(.js) .scripted { display: none; }"))
        #expect(text.contains(#"<noscript><meta http-equiv="refresh" content="10"></noscript>"#))
    }

    @Test("a receiver that refuses datagrams is not called ready")
    func refusing() async throws {
        var snapshot = Self.snapshot()
        snapshot.refuse()
        let rows = try await page(snapshot).text.components(separatedBy: "<tr>")
        let row = try #require(rows.first { $0.contains(">r0") })
        #expect(row.contains("bad\">refuses<") && !row.contains(">ready<"), "\(row)")
        #expect(row.contains(">4\u{202f}321<"), "\(row)")
    }

    @Test("it takes nothing from elsewhere, and a browser may run its own script only")
    func policy() async throws {
        let (first, second) = (try await page(), try await page())
        let policy = try #require(first.header("content-security-policy"))
        #expect(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"))
        #expect(!policy.contains("unsafe") && !policy.contains("http"))
        let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([0-9a-f]{32})'/)?.1)
        #expect(first.text.contains("<script nonce=\"\(nonce)\">"))
        #expect(first.text.components(separatedBy: "<script").count == 2)
        #expect(first.text.components(separatedBy: "<style").count == 2)
        #expect(second.header("content-security-policy") != policy, "no nonce is used twice")
        #expect(first.header("x-content-type-options") == "nosniff")
        #expect(first.header("cache-control") == "no-store")
        for banned in [
            " on[a-z]+=", " style=", "(src|href)=\"[a-z]*:?//", "javascript:", "@import",
        ] {
            let pattern = try Regex(banned)
            let found = first.text.firstMatch(of: pattern).map { String(first.text[$0.range]) }
            #expect(found == nil)
        }
    }

    @Test("names are text, whatever is in them")
    func escaping() async throws {
        let name = "</script><img src=x onerror=alert(1)>'\"&\u{202e}" + nastyName
        var counters = ListenerCounters.sample(name, downstreams: 1)
        counters.downstreams[0].name = name
        var snapshot = DaemonSnapshot.of([counters])
        snapshot.build.version = name
        let text = try await page(snapshot).text
        #expect(!text.contains("<img") && !text.contains("</script><"))
        #expect(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&#39;&quot;&amp;"))
        #expect(text.components(separatedBy: "</script>").count == 2)
        for scalar in text.unicodeScalars where scalar != "\n" {
            #expect(scalar.properties.generalCategory != .control, "\(scalar.value)")
            #expect(scalar.properties.generalCategory != .format, "\(scalar.value)")
        }
    }

    @Test(
        "many listeners and receivers are folded: 64 with 1024 each make a small page",
        .timeLimit(.minutes(1)))
    func large() async throws {
        let listeners = (0..<64).map { ListenerCounters.sample("l\($0)", downstreams: 1024) }
        let snapshot = DaemonSnapshot.of(listeners)
        let (whole, data) = (try await page(snapshot), try await page(snapshot, "/status.json"))
        #expect(whole.body.count < 1_000_000 && data.body.count < 50_000)
        #expect(whole.text.contains("all 1024 receivers") && whole.text.contains("(1016 more)"))
        #expect(!whole.text.contains("<details class=\"card listener\" data-name=\"l0\" open>"))
        let one = try await page(snapshot, "/?listener=l7")
        #expect(one.status == 200 && one.text.contains("all listeners"))
        #expect(one.text.components(separatedBy: "class=\"address\"").count == 1025)
        let crowd = DaemonSnapshot.of((0..<1000).map { .sample("l\($0)", downstreams: 1) })
        #expect(try await page(crowd).text.contains("744 more listeners are not shown"))
    }

    @Test("who gets nothing is not folded away")
    func attention() async throws {
        var counters = ListenerCounters.sample("one", downstreams: 100)
        counters.downstreams[0].weight = 1
        for index in counters.downstreams.indices {
            counters.downstreams[index].isReady = index != 77
        }
        let text = try await page(.of([counters])).text
        #expect(text.contains("127.0.0.1:1077") && text.contains("unhealthy"))
        #expect(text.components(separatedBy: "class=\"address\"").count == 9)
    }

    @Test(
        "a listener has a page of its own, by its name in the query",
        arguments: [
            ("/?listener=a%20%26%2Fb%C3%BC", 200), ("/?x=1&listener=a%20%26%2Fb%C3%BC#part", 200),
            ("/?listener=a", 404), ("/?listener=%C3", 200), ("/?listener=%zz", 200),
            ("/?other=a", 200), ("/status.json?listener=a%20%26%2Fb%C3%BC", 200),
            ("/status.json?listener=gone", 404),
        ])
    func ofOneListener(target: String, status: Int) async throws {
        let reply = try await page(.of([.sample("a &/bü", downstreams: 9)]), target)
        #expect(reply.status == status)
    }

    @Test("the link to all receivers leads to them")
    func link() async throws {
        let snapshot = DaemonSnapshot.of([.sample("a &/bü", downstreams: 9)])
        let text = try await page(snapshot).text
        let target = try #require(text.firstMatch(of: /href="\.(\/\?listener=[^"]*)"/)?.1)
        #expect(target == "/?listener=a%20%26%2Fb%C3%BC")
        let reply = try await page(snapshot, String(target))
        #expect(reply.text.components(separatedBy: "class=\"address\"").count == 10)
    }

    @Test(
        "metrics that the configuration puts at the root come first, and other paths are not found")
    func precedence() async throws {
        let reply = try await page(Self.snapshot(), "/", metrics: "/")
        #expect(reply.text.contains("udp_fanout_build_info"))
        for target in ["/status", "/index.html", "/status.json/", "//", "/favicon.ico"] {
            #expect(try await page(Self.snapshot(), target).status == 404, "\(target)")
        }
    }
}

extension DaemonSnapshot {
    /// Its first receiver refuses 4 321 datagrams within two seconds.
    mutating func refuse() {
        meter = RateMeter()
        let time = ContinuousClock.now
        meter.note(listeners, at: time)
        listeners[0].downstreams[0].refusals += 4321
        meter.note(listeners, at: time + .seconds(2))
    }
}
