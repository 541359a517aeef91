// SPDX-License-Identifier: Apache-2.0

extension StatusPage {
    /// The style sheet. Colours come in pairs, for light and dark; text stands out from its ground by
    /// 4.5 to 1 or more in both (WCAG 2, 1.4.3).
    static let style = """

        :root {
          color-scheme: light dark;
          --ground: #f3f5f8; --card: #ffffff; --line: #dde3ea; --ink: #17202b; --soft: #566273;
          --blue: #2463d8; --green: #17753a; --red: #c0262d; --amber: #8f5200;
          --blue-wash: #2463d822; --good: #e2f4e8; --bad: #fde7e7; --warn: #fdf0d8; --off: #e9edf2;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #0e1319; --card: #171e26; --line: #2a3440; --ink: #e8edf3; --soft: #9dabbb;
            --blue: #74aaff; --green: #58d68a; --red: #ff8a84; --amber: #f2b84b;
            --blue-wash: #74aaff2b; --good: #173524; --bad: #45201f; --warn: #3d2f12; --off: #252f3a;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0 auto; padding: 1rem; max-width: 74rem; background: var(--ground);
          color: var(--ink); font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto,
          "Noto Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums;
        }
        a { color: var(--blue); }
        a:focus-visible, summary:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
        header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .9rem;
          margin-bottom: .9rem; }
        h1 { font-size: 1.3rem; margin: 0; letter-spacing: -.01em; }
        small { font-size: .6em; font-weight: 500; color: var(--soft); }
        .muted, .address, dt, caption, thead th { color: var(--soft); font-weight: 400; }
        .live { margin-left: auto; font-size: .85rem; color: var(--soft); }
        .live::before { content: ""; display: inline-block; width: .55rem; height: .55rem;
          margin-right: .4rem; border-radius: 50%; background: var(--soft); }
        .live:empty { display: none; }
        .live.on::before { background: var(--green); }
        .live.lost { color: var(--red); } .live.lost::before { background: var(--red); }
        .tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: .75rem; }
        .tile, .card { background: var(--card); border: 1px solid var(--line);
          border-radius: .7rem; }
        .tile { padding: .7rem .9rem; } .tile p { margin: 0; }
        .tile h2 { margin: 0; font-size: .82rem; font-weight: 500; color: var(--soft); }
        .big { font-size: 1.75rem; font-weight: 650; line-height: 1.25; letter-spacing: -.02em; }
        .tile.warn .big, dl .warn dd, td.warn { color: var(--amber); }
        .count { font-size: .82rem; }
        .card { margin: .75rem 0 0; }
        figure.card { padding: .7rem .9rem .5rem; }
        figcaption { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .82rem; }
        .key::before { content: ""; display: inline-block; width: .8rem; height: .2rem;
          margin-right: .35rem; vertical-align: middle; border-radius: .1rem; }
        .k0::before { background: var(--soft); } .k1::before { background: var(--blue); }
        .k2::before { background: var(--red); }
        .notice { margin: .75rem 0 0; padding: .6rem .9rem; border-radius: .5rem;
          background: var(--warn); color: var(--amber); }
        summary { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .7rem;
          padding: .65rem .9rem; cursor: pointer; border-radius: .7rem; }
        summary::before { content: "▸"; color: var(--soft); width: .8rem; }
        details[open] > summary::before { content: "▾"; }
        summary::-webkit-details-marker { display: none; }
        .name { font-weight: 650; overflow-wrap: anywhere; }
        .place { font-size: .85rem; overflow-wrap: anywhere; }
        .now { min-width: 5.2rem; text-align: right; font-weight: 650; }
        .badge, .pill { padding: .05rem .5rem; border-radius: 1rem; font-size: .78rem;
          white-space: nowrap; }
        .badge { border: 1px solid var(--line); color: var(--soft); }
        .pill.good { background: var(--good); color: var(--green); }
        .pill.bad { background: var(--bad); color: var(--red); }
        .pill.warn { background: var(--warn); color: var(--amber); }
        .pill.off { background: var(--off); color: var(--soft); }
        summary .pill { margin-left: auto; }
        .body { padding: 0 .9rem .8rem; }
        svg { display: block; }
        .chart { width: 100%; height: 7rem; margin-top: .3rem; }
        figure .chart { height: 9.5rem; }
        .spark { width: 6.5rem; height: 1.6rem; }
        details[open] > summary .spark { display: none; }
        .chart text { fill: var(--soft); font-size: 11px; }
        .grid { stroke: var(--line); stroke-width: 1; }
        .area { fill: var(--blue-wash); }
        .l0, .l1, .l2 { fill: none; stroke-width: 1.7; stroke-linejoin: round; }
        .l0 { stroke: var(--soft); stroke-width: 1.1; stroke-dasharray: 2 3; }
        .l1 { stroke: var(--blue); } .l2 { stroke: var(--red); }
        .counts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.2rem, 1fr));
          gap: .5rem .9rem; margin: .6rem 0 .2rem; }
        dt { font-size: .82rem; } dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
        table { width: 100%; border-collapse: collapse; margin-top: .7rem; font-size: .9rem; }
        caption { text-align: left; font-size: .82rem; padding-bottom: .1rem; }
        thead th { font-size: .8rem; padding-top: 0; }
        th, td { padding: .32rem .5rem .32rem 0; border-top: 1px solid var(--line);
          text-align: left; font-weight: 400; vertical-align: middle; }
        thead th { border-top: 0; }
        .number { text-align: right; padding-right: 0; padding-left: .7rem; white-space: nowrap; }
        tbody th { overflow-wrap: anywhere; font-weight: 550; }
        .address { display: block; font-size: .8rem; font-weight: 400; }
        .bar { width: 22%; min-width: 4rem; }
        .bar svg { width: 100%; height: .5rem; border-radius: .25rem; }
        .bar rect { fill: var(--blue); } .drop rect { fill: var(--red); }
        .bar .back { fill: var(--off); }
        .receivers { table-layout: fixed; }
        .receivers th:first-child { width: 28%; } .receivers th:nth-child(2) { width: 15%; }
        .receivers th:nth-child(3) { width: 22%; }
        .drops { max-width: 38rem; } .drops .bar { width: 45%; }
        code { font: .9em ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; }
        .more { margin: .5rem 0 0; font-size: .9rem; }
        footer { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0 .5rem;
          font-size: .82rem; }
        html:not(.js) .scripted { display: none; }
        @media (max-width: 40rem) {
          body { padding: .7rem; }
          .tiles { grid-template-columns: 1fr 1fr; gap: .5rem; }
          .tile { padding: .55rem .7rem; } .big { font-size: 1.45rem; }
          .receivers thead { display: none; }
          .receivers tr { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: .1rem .6rem;
            padding: .55rem 0; border-top: 1px solid var(--line); align-items: center; }
          .receivers th, .receivers td { border: 0; padding: 0; }
          .receivers th:first-child { width: auto; grid-column: 1 / 3; }
          .receivers .state { text-align: right; }
          .receivers .bar { grid-column: 1 / -1; width: 100%; padding: .15rem 0; }
          .receivers .number { text-align: left; font-size: .82rem; }
          .receivers .number:nth-child(5) { text-align: center; }
          .receivers .number:nth-child(6) { text-align: right; }
          .receivers .rate::after { content: " a second"; color: var(--soft); }
          .receivers .number:nth-child(5)::after { content: " forwarded"; color: var(--soft); }
          .receivers .number:nth-child(6)::after { content: " dropped"; color: var(--soft); }
          .place { order: 3; flex: 1 1 60%; } .now { order: 4; }
          .spark { order: 2; width: 4.5rem; }
        }

        """
}
