// SPDX-License-Identifier: Apache-2.0
// What comes from the server is written as text, never as markup. The browser's own parser, which runs no script, reads the
// page when it is asked for again.
"use strict";
(() => {
  const period = 2000, kept = 150, patience = 10000;
  const root = document.documentElement, live = document.getElementById("live");
  let before = null, history = new Map(), lastAnswer = Date.now(), timer = 0,
    isAsking = false;

  root.classList.add("js");

  const decimal = (value, places) => value.toFixed(places);
  function rate(value) {
    if (value === 0 || (value >= 9.95 && value < 999.5)) return decimal(value, 0);
    if (value < 9.95) return decimal(value, 1);
    const [scaled, unit] = value < 999500 ? [value / 1e3, "k"]
      : value < 999500000 ? [value / 1e6, "M"] : [value / 1e9, "G"];
    return decimal(scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0) + "\u202f" + unit;
  }
  const count = value => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  function write(element, text) {
    if (element && element.textContent !== text) element.textContent = text;
  }

  // A counter that has fallen began anew.
  const gain = (now, then) => now >= then ? now - then : now;

  function note(key, time, rates) {
    let points = history.get(key);
    if (!points) history.set(key, points = []);
    points.push([time, ...rates]);
    if (points.length > kept) points.shift();
  }

  // What the page brings, of charts that nothing is known of yet.
  function recall() {
    const charts = [["all", document.getElementById("all")],
      ...sections().map((section, i) => [i + section.dataset.name, section])];
    for (const [key, element] of charts) {
      if (element && !history.has(key)) history.set(key, JSON.parse(element.dataset.rates));
    }
  }

  function make(name, attributes, parent) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  // The next of 1, 2 and 5 times a power of ten.
  function ceiling(value) {
    if (value <= 1) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].find(step => step * power >= value) * power;
  }

  const ago = span => span < 100000 ? `${Math.round(span / 1000)} s ago`
    : `${Math.round(span / 60000)} min ago`;

  function draw(svg, points, lines, hasAxes) {
    const width = svg.clientWidth, height = svg.clientHeight;
    if (!width || !height || !points || points.length < 2) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    const foot = hasAxes ? 15 : 1, head = hasAxes ? 14 : 1;
    const end = points[points.length - 1][0];
    const span = Math.max(end - points[0][0], 30000);
    const top = ceiling(Math.max(...points.flatMap(point => lines.map(i => point[i + 1]))));
    const x = time => (width - 1) * (1 - (end - time) / span);
    const y = value => height - foot - (height - foot - head) * value / top;
    if (hasAxes) {
      for (const part of [0, .5, 1]) {
        make("line", { class: "grid", x1: 0, x2: width, y1: y(top * part),
          y2: y(top * part) }, svg);
        if (part) make("text", { x: 0, y: y(top * part) - 3 }, svg)
          .textContent = rate(top * part);
      }
      make("text", { x: 0, y: height - 2 }, svg).textContent = ago(span);
      make("text", { x: width, y: height - 2, "text-anchor": "end" }, svg)
        .textContent = "now";
    }
    for (const i of lines) {
      const path = points.map((point, at) =>
        (at ? "L" : "M") + x(point[0]).toFixed(1) + " " + y(point[i + 1]).toFixed(1))
        .join("");
      if (i === 1) {
        const [first, last] = [x(points[0][0]), x(end)].map(at => at.toFixed(1));
        make("path", { class: "area",
          d: `${path}L${last} ${y(0)}L${first} ${y(0)}Z` }, svg);
      }
      make("path", { class: "l" + i, d: path }, svg);
    }
  }

  function drawAll() {
    for (const svg of document.querySelectorAll("#all")) {
      draw(svg, history.get("all"), [0, 1, 2], true);
    }
    for (const [index, section] of sections().entries()) {
      const points = history.get(index + section.dataset.name);
      draw(section.querySelector(".spark"), points, [1, 2], false);
      if (section.open) draw(section.querySelector(".chart"), points, [0, 1, 2], true);
    }
  }

  const sections = () => [...document.querySelectorAll(".listener")];

  function fillBars(cells, values) {
    const most = Math.max(...values, 0);
    cells.forEach((cell, i) => {
      const bar = cell.firstChild.lastChild;
      const width = most ? (values[i] / most * 100).toFixed(1) : "0.0";
      if (bar.getAttribute("width") !== width) bar.setAttribute("width", width);
    });
  }

  function showListener(section, index, now, then, seconds, time) {
    const rates = now.counts.slice(0, 3).map(
      (value, i) => then ? gain(value, then.counts[i]) / seconds : 0);
    if (then) note(index + section.dataset.name, time, rates);
    if (then) write(section.querySelector(".now .rate"), rate(rates[1]));
    if (!section.open) return;
    section.querySelectorAll(".counts dd").forEach(
      (cell, i) => write(cell, count(now.counts[i])));
    section.querySelectorAll(".drops tbody tr").forEach(
      (row, i) => write(row.cells[2], count(now.drops[i])));
    fillBars(section.querySelectorAll(".drops .bar"), now.drops);
    section.querySelectorAll(".receivers tbody tr").forEach((row, i) => {
      const [forwarded, dropped, refused] = now.receivers[i];
      const old = then && then.receivers[i];
      if (old) write(row.cells[3], rate(gain(forwarded, old[0]) / seconds));
      write(row.cells[4], count(forwarded));
      write(row.cells[5], count(dropped));
      write(row.cells[6], count(refused));
    });
    fillBars(section.querySelectorAll(".receivers .bar"), now.receivers.map(r => r[0]));
  }

  function show(now) {
    const then = before && before.shape === now.shape ? before : null;
    const seconds = then ? Math.max(now.at - then.at, 1) / 1000 : 1;
    write(document.getElementById("uptime"), now.uptime);
    // The totals outlast a change of shape.
    const rates = now.total.map((value, i) =>
      before ? gain(value, before.total[i]) / Math.max(now.at - before.at, 1) * 1000 : 0);
    if (before) note("all", now.at, rates);
    document.querySelectorAll("[data-total]").forEach((tile, i) => {
      if (before) write(tile.querySelector(".rate"), rate(rates[i]));
      write(tile.querySelector(".count"), count(now.total[i]));
    });
    sections().forEach((section, i) => showListener(
      section, i, now.listeners[i], then && then.listeners[i], seconds, now.at));
    before = now;
    drawAll();
  }

  async function ask(address) {
    const answer = await fetch(address + location.search, {
      cache: "no-store", signal: AbortSignal.timeout(patience) });
    if (!answer.ok && answer.status !== 404) throw new Error(String(answer.status));
    return answer;
  }

  // More than numbers has changed: the page is taken anew, with what was open or closed.
  async function takeAnew() {
    const text = await (await ask("./")).text();
    // Without its style, whose nonce is another one.
    const part = text.slice(text.indexOf("<main"), text.indexOf("</main>") + 7);
    const page = new DOMParser().parseFromString(part, "text/html").querySelector("main");
    const open = new Map(sections().map(s => [s.dataset.name, s.open]));
    document.querySelector("main").replaceWith(page);
    for (const section of sections()) {
      if (open.has(section.dataset.name)) section.open = open.get(section.dataset.name);
    }
    const keys = new Set(["all", ...sections().map((s, i) => i + s.dataset.name)]);
    for (const key of history.keys()) if (!keys.has(key)) history.delete(key);
    recall();
  }

  async function look() {
    clearTimeout(timer);
    if (document.hidden || isAsking) return;
    isAsking = true;
    const began = performance.now();
    try {
      let now = await (await ask("status.json")).json();
      if (document.querySelector("main").dataset.shape !== now.shape) {
        await takeAnew();
        now = await (await ask("status.json")).json();
      }
      if (document.querySelector("main").dataset.shape === now.shape) show(now);
      lastAnswer = Date.now();
      live.className = "live on";
      write(live, "live");
    } catch {
      live.className = "live lost";
      write(live, `no answer for ${Math.round((Date.now() - lastAnswer) / 1000)} s`);
    }
    isAsking = false;
    // A daemon that takes long for an answer is not kept busy by looking at it.
    timer = setTimeout(look, Math.max(period, 3 * (performance.now() - began)));
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  document.addEventListener("toggle", drawAll, true);
  addEventListener("resize", drawAll);
  recall();
  drawAll();
  look();
})();
