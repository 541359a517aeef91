// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The status page at `/`: one HTML document that needs nothing else.
///
/// The text is rendered here, so the page works without scripts; it then reloads every ten seconds. The script
/// fetches the numbers every two seconds, draws the last two minutes, and reloads the page when more than numbers
/// changes.
struct StatusPage {
    /// The path of the numbers for the script.
    static let dataPath = "/status.json"

    let view: StatusView
    let metricsPath: String
    /// Random and used once, so that injected text cannot carry it.
    private let nonce: String

    init(_ view: StatusView, metricsPath: String) {
        self.view = view
        self.metricsPath = metricsPath
        var random = SystemRandomNumberGenerator()
        nonce = (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    var contentSecurityPolicy: String {
        [
            "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'",
            "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    var html: String {
        PageTemplate.page.filled([
            "nonce": nonce, "style": PageTemplate.style, "script": PageTemplate.script,
            "header": header, "shape": view.shape, "footer": footer,
            "main": "\(notices)\(tiles)"
                + view.listeners.map(section).joined(separator: "\n") + omittedNote,
        ])
    }

    private var header: String {
        let back = view.only == nil ? "" : "<a class=\"back\" href=\"./\">all listeners</a>"
        return """
            <header>
            <h1>udp-fanout</h1><span class="muted">\(HumanText.escaped(view.snapshot.build.version))</span>
            <span class="muted">up <span id="uptime">\(HumanText.span(view.snapshot.uptime))</span></span>
            \(back)<span id="live" class="live" role="status"></span>
            </header>
            """
    }

    private var footer: String {
        let path = HumanText.escaped(String(metricsPath.drop { $0 == "/" }))
        return """
            <footer><a href="./\(path)">metrics</a> <a href="healthz">health</a>
            <span class="muted">Counts are since each listener began. Shares compare the receivers that are
            shown.</span></footer>
            """
    }

    private var notices: String {
        var notices: [String] = []
        if !view.snapshot.reload.lastSuccessful {
            notices.append("The last reload failed; the previous configuration stays active.")
        }
        if !view.isFound { notices.append("There is no such listener.") }
        if view.isFound, view.listeners.isEmpty { notices.append("There are no listeners yet.") }
        return notices.map { "<p class=\"notice\">\($0)</p>\n" }.joined()
    }

    private var omittedNote: String {
        guard view.omitted > 0 else { return "" }
        return
            "\n<p class=\"notice\">\(view.omitted) more listeners are not shown; the metrics have"
            + " them.</p>"
    }

    private var tiles: String {
        guard view.only == nil, !view.listeners.isEmpty else { return "" }
        let rates = view.snapshot.active.map { view.snapshot.meter.rates(of: $0.name) }
        func sum(_ value: (Rates) -> Double) -> String {
            HumanText.rate(rates.reduce(0) { $0 + value($1) })
        }
        let total = view.total
        let isShort = total.ready < total.receivers || total.ready == 0
        return """
            <section class="tiles" aria-label="All listeners together">
            \(tile("received", sum(\.packetsReceived), total.received))
            \(tile("forwarded", sum(\.packetsForwarded), total.forwarded))
            \(tile("dropped", sum(\.packetsDropped), total.dropped))
            <div class="tile\(isShort ? " warn" : "")"><h2>receivers ready</h2>
            <p class="big">\(total.ready)<small> of \(total.receivers)</small></p></div>
            </section>
            <figure class="card scripted"><figcaption><span class="key k0">received</span>
            <span class="key k1">forwarded</span> <span class="key k2">dropped</span>
            <span class="muted">datagrams a second</span></figcaption>
            <svg class="chart" id="all" data-rates="\(StatusView.json(view.snapshot.history.total))" role="img" aria-label="Rates of all listeners together"></svg></figure>

            """
    }

    private func tile(_ name: String, _ rate: String, _ count: UInt64) -> String {
        """
        <div class="tile" data-total><h2>\(name)</h2><p class="big"><span class="rate">\(rate)</span>\
        <small>/s</small></p><p class="muted count">\(HumanText.count(count))</p></div>
        """
    }
}

extension StatusPage {
    /// A listener: a line that opens to its counts, its drops and its receivers.
    func section(_ listener: StatusListener) -> String {
        let isOpen = view.listeners.count <= StatusView.listenersOpen
        let name = HumanText.escaped(listener.counters.listener)
        return """
            <details class="card listener" data-name="\(name)" \
            data-rates="\(StatusView.json(listener.history))"\(isOpen ? " open" : "")>
            <summary><span class="name">\(name)</span>
            <span class="badge">\(listener.counters.mode.rawValue)</span>
            <span class="muted place">\(place(of: listener))</span>
            \(readiness(of: listener))
            <svg class="spark scripted" aria-hidden="true"></svg>
            <span class="now"><span class="rate">\(HumanText.rate(listener.rates.packetsForwarded))</span>\
            <small>/s</small></span></summary>
            <div class="body">
            <svg class="chart scripted" role="img" aria-label="Rates of \(name)"></svg>
            \(counts(of: listener))
            \(drops(of: listener))
            \(receivers(of: listener))
            </div>
            </details>
            """
    }

    private func place(of listener: StatusListener) -> String {
        guard let place = listener.place else { return "" }
        let parts =
            [place.place, place.balance.rawValue]
            + (place.interface.map { ["on " + $0] } ?? [])
        return parts.map(HumanText.escaped).joined(separator: " · ")
    }

    private func readiness(of listener: StatusListener) -> String {
        let (ready, all) = (listener.readyCount, listener.receiverCount)
        let level = ready == 0 ? "bad" : ready < all ? "warn" : "good"
        return "<span class=\"pill \(level)\">\(ready) of \(all) ready</span>"
    }

    private func counts(of listener: StatusListener) -> String {
        let counters = listener.counters
        let entries = [
            ("received", counters.packetsReceived, ""),
            ("forwarded", counters.packetsForwarded, ""),
            ("dropped", counters.packetsDropped, counters.packetsDropped > 0 ? "warn" : ""),
            ("bytes received", counters.bytesReceived, ""),
            ("lost in the kernel", counters.kernelDrops, counters.kernelDrops > 0 ? "warn" : ""),
        ]
        let items = entries.map { name, value, level in
            "<div class=\"\(level)\"><dt>\(name)</dt><dd>\(HumanText.count(value))</dd></div>"
        }
        return "<dl class=\"counts\">\(items.joined())</dl>"
    }

    private func drops(of listener: StatusListener) -> String {
        guard !listener.reasons.isEmpty else { return "" }
        let most = listener.reasons.map(\.count).max() ?? 0
        let rows = listener.reasons.map { reason, count in
            """
            <tr><th scope="row"><code>\(reason.rawValue)</code></th>\
            <td class="bar">\(bar(count, of: most, kind: "drop"))</td>\
            <td class="number">\(HumanText.count(count))</td></tr>
            """
        }
        return """
            <table class="drops"><caption>Why datagrams were dropped</caption><thead><tr>\
            <th scope="col">reason</th><th scope="col">share</th><th scope="col" class="number">count</th>\
            </tr></thead><tbody>\(rows.joined())</tbody></table>
            """
    }

    private func receivers(of listener: StatusListener) -> String {
        guard listener.receiverCount > 0 else {
            return "<p class=\"notice\">It has no receiver: what comes is dropped.</p>"
        }
        let most = listener.mostForwarded
        let rows = listener.receivers.map { row($0, most: most) }
        return """
            <table class="receivers"><thead><tr><th scope="col">receiver</th><th scope="col">state</th>\
            <th scope="col">share</th><th scope="col" class="number">a second</th>\
            <th scope="col" class="number">forwarded</th><th scope="col" class="number">dropped</th>\
            <th scope="col" class="number">refused</th></tr></thead><tbody>\(rows.joined())</tbody></table>\(rest(of: listener))
            """
    }

    private func row(_ receiver: ReceiverSnapshot, most: UInt64) -> String {
        let counters = receiver.counters
        let weight = counters.weight == 1 ? "" : " <span class=\"muted\">×\(counters.weight)</span>"
        let forwarded = counters.packetsForwarded
        return """
            <tr><th scope="row">\(HumanText.escaped(counters.name))\(weight)\
            <span class="address">\(counters.endpoint)</span></th>\
            <td class="state">\(pill(of: receiver))</td>\
            <td class="bar">\(bar(forwarded, of: most, kind: "share"))</td>\
            <td class="number rate">\(HumanText.rate(receiver.rates.packetsForwarded))</td>\
            <td class="number">\(HumanText.count(forwarded))</td>\
            <td class="number\(receiver.packetsDropped > 0 ? " warn" : "")">\(HumanText.count(receiver.packetsDropped))</td>\
            <td class="number\(receiver.isRefusing ? " warn" : "")">\(HumanText.count(counters.refusals))</td></tr>
            """
    }

    /// The name of the receiver's state, with its health status if that says more.
    private func pill(of receiver: ReceiverSnapshot) -> String {
        let (level, word) =
            switch receiver.state {
            case .ready where receiver.isRefusing: ("bad", "refuses")
            case .ready: receiver.isHealthy == false ? ("warn", "probes fail") : ("good", "ready")
            case .drained: ("off", "drained")
            case .weightZero: ("off", "weight 0")
            case .standby: ("off", "standby")
            case .unhealthy: ("bad", "unhealthy")
            case .outOfReach: ("bad", "out of reach")
            }
        return "<span class=\"pill \(level)\">\(word)</span>"
    }

    private func bar(_ value: UInt64, of most: UInt64, kind: String) -> String {
        let percent = most == 0 ? 0 : Double(value) / Double(most) * 100
        let width = (percent * 10).rounded() / 10
        return """
            <svg class="\(kind)" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="back" width="100" height="8"/><rect width="\(width)" height="8"/></svg>
            """
    }

    private func rest(of listener: StatusListener) -> String {
        guard listener.omitted > 0 else { return "" }
        let target = "./?listener=" + QueryText.encoded(listener.counters.listener)
        return "<p class=\"more\"><a href=\"\(target)\">all \(listener.receiverCount) receivers</a>"
            + " <span class=\"muted\">(\(listener.omitted) more)</span></p>"
    }
}
