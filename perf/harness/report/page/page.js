"use strict";
// Charts are drawn when they come into sight, a case's when it is opened. Names and messages only ever become text.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const once = (make) => { let value; return () => (value ??= make()); };
  const figures = read("figures");
  const details = once(() => read("details"));
  const history = once(() => read("trend") ?? { cases: {}, runs: [], steps: {}, promotions: {} });
  const drawn = new Map(); // element -> figure, with the colours still as names

  // Plotly reads markup in its texts; this shows a text as it is.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const coloured = (value, style) => {
    if (typeof value === "string") {
      return value.replace(/^var\((--[a-z-]+)\)$/, (_, name) => style.getPropertyValue(name).trim());
    }
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((item) => coloured(item, style));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, style)]));
    }
    return value;
  };

  const draw = (element, figure) => {
    const style = getComputedStyle(document.documentElement);
    const { data, layout } = coloured(figure, style);
    drawn.set(element, figure);
    return Plotly.react(element, data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
  };
  const redraw = () => drawn.forEach((figure, element) => draw(element, figure));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  const whenSeen = (elements, act) => {
    const observer = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) { observer.unobserve(target); act(target); }
      }
    }, { rootMargin: "300px" });
    elements.forEach((element) => observer.observe(element));
  };
  whenSeen(document.querySelectorAll("[data-chart]"), (element) => draw(element, figures[element.dataset.chart]));
  addEventListener("beforeprint", () => document.querySelectorAll("[data-chart]").forEach((element) => {
    if (!drawn.has(element)) draw(element, figures[element.dataset.chart]);
  }));

  // Units

  const unitOf = (seconds) => {
    const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
    return units.find(([scale]) => seconds >= scale) ?? units[3];
  };
  const axis = (title) => ({ title: { text: plain(title) }, gridcolor: "var(--line)", zeroline: false, automargin: true });
  const layout = (x, y, height, more = {}) => ({
    height, margin: { l: 8, r: 16, t: 24, b: 8 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: "var(--text)", size: 12 }, xaxis: axis(x), yaxis: axis(y), legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
    hoverlabel: { bgcolor: "var(--raised)", font: { color: "var(--text)" } }, ...more,
  });

  // One case

  const make = (tag, text, ...children) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    element.append(...children);
    return element;
  };

  const distribution = (sides) => {
    const [scale, unit] = unitOf(sides[0].rounds[0][1][0]);
    const count = sides.reduce((sum, side) => sum + side.rounds.reduce((all, [, values]) => all + values.length, 0), 0);
    const data = sides.map((side, place) => ({
      type: "box", name: plain(side.name), boxpoints: "all", jitter: 0.6, pointpos: 0, line: { width: 1 },
      marker: { size: 3, opacity: 0.55, color: place === sides.length - 1 ? "var(--accent)" : "var(--second)" },
      x: side.rounds.flatMap(([process, values]) => values.map(() => `${plain(side.name)} ${process}`)),
      y: side.rounds.flatMap(([, values]) => values.map((seconds) => seconds / scale)),
    }));
    return { data, title: `Every timed round (${count}); a box is one process: median and quartiles`,
      layout: layout("process of each side", `time per step (${unit})`, 320, { showlegend: sides.length > 1 }) };
  };

  const pairs = (metric) => {
    const [middle, low, high] = metric.interval;
    const hover = `${plain(metric.change)}<extra></extra>`;
    return {
      title: `${metric.name}: one point per pair of processes; the bar is ${metric.change}`,
      data: [
        { type: "scatter", mode: "markers", name: "pairs", x: metric.ratios, y: metric.ratios.map(() => "pairs"), marker: { color: "var(--accent)", size: 7, opacity: 0.7 }, hovertemplate: "×%{x:.4g}<extra></extra>" },
        { type: "scatter", mode: "markers", name: "interval", x: [middle], y: ["interval"], marker: { color: "var(--text)", size: 9 }, hovertemplate: hover,
          error_x: { type: "data", symmetric: false, array: [high - middle], arrayminus: [middle - low], color: "var(--text)" } },
      ],
      layout: layout("candidate / baseline (ratio; 1 = no change)", "", 170, { showlegend: false,
        shapes: [{ type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { color: "var(--muted)", width: 1 } }] }),
    };
  };

  const trend = (key, device) => {
    const found = history().cases[key];
    const { runs, steps, promotions } = history();
    const [scale, unit] = unitOf(found.value[0]);
    const dates = found.run.map((run) => runs[run][1]);
    const promoted = promotions[key] ?? [];
    const inBaseline = new Set(promoted.flatMap((one) => one.runs));
    const isPromoted = found.run.map((run) => inBaseline.has(runs[run][0]));
    const red = new Set(found.red);
    const kernels = []; // of each point: the last that was noted
    found.kernel.forEach(([place, kernel]) => { kernels[place] = kernel; });
    for (let place = 1; place < dates.length; place += 1) kernels[place] ??= kernels[place - 1];
    const text = found.run.map((run, place) => [
      `${plain(runs[run][0])}: ${(found.value[place] / scale).toPrecision(4)} ${unit}`, plain(kernels[place]),
      ...(red.has(place) ? ["red when stored"] : []), ...(isPromoted[place] ? ["in the baseline"] : []),
    ].join("<br>"));
    const line = (x, colour, dash) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: colour, width: 1, dash } });
    const label = (x, words) => ({ x, y: 1, yref: "paper", yanchor: "top", xanchor: "right", textangle: -90, showarrow: false, text: plain(words), font: { size: 10, color: "var(--muted)" } });
    const marks = [
      ...(steps[device] ?? []).map(([run, words]) => [runs[run][1], words, "var(--open)", "dash"]),
      ...found.work.map((place) => [dates[place], "the case is other work from here on", "var(--red)", "dot"]),
      ...promoted.map((one) => [one.date, `promoted: ${one.reason}`, "var(--good)", "dot"]),
    ];
    const ends = (side) => found[side].map((value, place) => (value === null ? 0 : Math.abs(value - found.value[place]) / scale));
    return {
      title: "History: median over processes in each stored run, bars are 95 % intervals over processes",
      data: [{
        type: "scatter", mode: "lines+markers", x: dates, y: found.value.map((value) => value / scale), hovertext: text, hoverinfo: "text",
        line: { color: "var(--accent)", width: 1 },
        marker: {
          size: isPromoted.map((yes, place) => (yes || red.has(place) ? 9 : 5)),
          symbol: isPromoted.map((yes, place) => (red.has(place) ? "triangle-up" : yes ? "diamond" : "circle")),
          color: isPromoted.map((yes, place) => (red.has(place) ? "var(--red)" : yes ? "var(--good)" : "var(--accent)")),
        },
        error_y: { type: "data", symmetric: false, array: ends("high"), arrayminus: ends("low"), thickness: 1, width: 0, color: "var(--second)" },
      }],
      layout: layout("date of the run", `time per step (${unit})`, 360, { showlegend: false,
        shapes: marks.map(([x, , colour, dash]) => line(x, colour, dash)), annotations: marks.map(([x, words]) => label(x, words)) }),
    };
  };

  const chartIn = (cell, { title, data, layout: drawnLayout }) => {
    const place = make("div");
    place.className = "chart";
    cell.append(make("figure", "", make("figcaption", title), place));
    draw(place, { data, layout: drawnLayout });
  };

  const open = (row) => {
    const found = details()[row.dataset.place];
    const cell = make("td");
    cell.colSpan = row.cells.length;
    const detail = make("tr", "", cell);
    detail.className = "detail";
    row.after(detail);
    cell.append(make("p", found.key));
    if (found.reason) {
      cell.append(make("p", found.reason));
      cell.lastChild.className = "reason";
    }
    const facts = [
      ...found.sides.map((side) => `${side.name}: ${side.step}, kernel ${side.kernels}`),
      ...found.metrics.map((metric) => [`${metric.name}: ${metric.state}`, metric.change, metric.visible && `smallest visible ${metric.visible}`].filter(Boolean).join(", ")),
      ...found.informs.map((text) => `differs, for information: ${text}`),
    ];
    cell.append(make("ul", "", ...facts.map((fact) => make("li", fact))));
    if (found.sides.length) chartIn(cell, distribution(found.sides));
    found.metrics.filter((metric) => metric.ratios.length && metric.interval).forEach((metric) => chartIn(cell, pairs(metric)));
    if (history().cases[found.key]) chartIn(cell, trend(found.key, found.device));
  };

  const close = (row) => {
    const detail = row.nextElementSibling;
    detail.querySelectorAll(".chart").forEach((element) => { Plotly.purge(element); drawn.delete(element); });
    detail.remove();
  };

  const body = document.querySelector("#case-table tbody");
  const rows = [...body.querySelectorAll("tr.case")];
  const isOpen = (row) => row.nextElementSibling?.classList.contains("detail") ?? false;
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button.open");
    if (!button) return;
    const row = button.closest("tr");
    button.setAttribute("aria-expanded", String(!isOpen(row)));
    if (isOpen(row)) close(row); else open(row);
  });

  // Search, filter, sort

  const form = document.getElementById("filter");
  const filter = () => {
    const asked = Object.fromEntries(new FormData(form));
    const words = asked.text.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = `${row.dataset.key} ${row.textContent}`.toLowerCase();
      const fits = words.every((word) => text.includes(word))
        && ["verdict", "device", "kernel", "path"].every((name) => !asked[name] || row.dataset[name] === asked[name]);
      row.hidden = !fits;
      if (isOpen(row)) row.nextElementSibling.hidden = !fits;
      count += fits;
    }
    document.getElementById("shown").textContent = `${count} of ${rows.length} shown`;
    document.getElementById("none").hidden = count > 0;
  };
  ["input", "change"].forEach((kind) => form.addEventListener(kind, filter));
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  filter(); // a browser may keep what was asked before the page was loaded again

  document.querySelectorAll("[data-sort]").forEach((button) => button.addEventListener("click", () => {
    const head = button.closest("th");
    const rising = head.getAttribute("aria-sort") !== "ascending";
    document.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const of = (row) => row.dataset[button.dataset.sort];
    const compare = (a, b) => {
      if (of(a) === "" || of(b) === "") return (of(a) === "") - (of(b) === ""); // what is missing stays last
      const order = Number.isNaN(Number(of(a))) ? of(a).localeCompare(of(b)) : Number(of(a)) - Number(of(b));
      return rising ? order : -order;
    };
    for (const row of [...rows].sort(compare)) {
      const detail = isOpen(row) ? row.nextElementSibling : null;
      body.append(row);
      if (detail) body.append(detail);
    }
  }));

  // A small line of each case's history

  const svg = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    return element;
  };
  whenSeen(document.querySelectorAll("td.spark"), (cell) => {
    const row = cell.closest("tr");
    const found = history().cases[row.dataset.key];
    if (!found || found.value.length < 2) return;
    const logs = found.value.map(Math.log);
    const middle = [...logs].sort((a, b) => a - b)[logs.length >> 1];
    const last = Math.max(1, history().runs.length - 1);
    // Half of the height is a change by 30 %; what goes further is cut.
    const y = (log) => 13 - Math.max(-12, Math.min(12, (12 * (log - middle)) / Math.log(1.3)));
    const x = (run) => (118 * run) / last + 1;
    const path = found.run.map((run, place) => `${place ? "L" : "M"}${x(run).toFixed(1)} ${y(logs[place]).toFixed(1)}`);
    const picture = svg("svg", { viewBox: "0 0 120 26", role: "img", "aria-label": "history: time per step over the stored runs" });
    (history().steps[details()[row.dataset.place].device] ?? []).forEach(([run]) => picture.append(svg("line", { x1: x(run), x2: x(run), y1: 0, y2: 26 })));
    picture.append(svg("path", { d: path.join("") }));
    cell.append(picture);
  });
})();
