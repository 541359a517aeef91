// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The status page at `/`: one HTML document that needs nothing else.
///
/// All of its words are made here, so it is whole without scripts; it is then loaded anew every ten
/// seconds. The script asks for the numbers every two seconds, writes them into the page, draws the last minutes,
/// of which the page brings two, and takes the page anew when more than numbers has changed.
struct StatusPage {
    /// Where the script finds the numbers.
    static let dataPath = "/status.json"

    let view: StatusView
    let metricsPath: String
    /// Unknown before and never used again, so that nothing that got into the page can bear it.
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
            notices.append("The last reload failed; the configuration before stays in force.")
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
        let rates = view.snapshot.inForce.map { view.snapshot.meter.rates(of: $0.name) }
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
