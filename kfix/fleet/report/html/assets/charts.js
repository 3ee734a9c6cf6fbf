// Draws the charts as SVG when they come near the viewport. Colours are those of the style sheet, in both schemes.
const WINDOW = 30;
const ROW = 24;
const LETTER = 7;

function svg(tag, given, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (name === "fill" || name === "stroke") made.style[name] = value === "transparent" ? value : `var(--${value})`;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== ""));
  return made;
}

const picture = (width, height) =>
  svg("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width, height, role: "presentation" });
const written = (x, y, text, more) => svg("text", { x, y, fill: "text", ...more }, text);

function mark(kind, x, y, colour, words) {
  const title = svg("title", {}, words);
  if (kind === "circle") return svg("circle", { cx: x, cy: y, r: 3.5, fill: colour }, title);
  const turned = kind === "diamond" ? { transform: `rotate(45 ${x} ${y})` } : {};
  return svg("rect", { x: x - 3, y: y - 3, width: 6, height: 6, fill: colour, ...turned }, title);
}

// Two panels, one above the other, over the same days.
function trend(figure, width) {
  const [left, right, top, gap, heights] = [46, 14, 28, 26, [100, 120]];
  const drawn = picture(width, top + heights[0] + gap + heights[1] + 26);
  const times = figure.days.map((day) => Date.parse(day));
  const last = times.length - 1;
  const x = (n) => left + (width - left - right) * (times[n] - times[0]) / (times[last] - times[0]);
  let above = top;
  let key = 4;
  figure.panels.forEach((panel, at) => {
    const height = heights[at];
    const y = (value) => above + height - height * (value - panel.low) / (panel.high - panel.low);
    for (const tick of panel.ticks) {
      drawn.append(svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: "line" }),
        written(left - 8, y(tick) + 4, `${tick}`, { "text-anchor": "end" }));
    }
    drawn.append(written(0, 0, panel.title,
      { transform: `translate(12 ${above + height / 2}) rotate(-90)`, "text-anchor": "middle", fill: "soft" }));
    for (const line of panel.lines) {
      let path = "";
      line.values.forEach((value, n) => {
        if (value === null) return;
        const joined = n > 0 && line.values[n - 1] !== null;
        path += `${joined ? "L" : "M"}${x(n).toFixed(1)} ${y(value).toFixed(1)}`;
      });
      drawn.append(svg("path", { d: path, stroke: line.colour, fill: "transparent", "stroke-width": 2,
        "stroke-dasharray": line.mark === "square" ? "6 4" : "none" }));
      line.values.forEach((value, n) => {
        if (value !== null) drawn.append(mark(line.mark, x(n), y(value), line.colour, `${figure.days[n]}: ${line.name} ${value}`));
      });
      drawn.append(mark(line.mark, key + 4, 10, line.colour, line.name), written(key + 13, 14, line.name));
      key += 20 + LETTER * line.name.length;
    }
    above += height + gap;
  });
  // The last label ends at the last day: it takes one and a half times the room of the others.
  const room = Math.floor((width - left - right) / (17 * LETTER));
  const shown = Math.max(1, Math.ceil(last / Math.max(1, Math.min(5, room))));
  for (let n = last; n >= 0; n -= shown) {
    const anchor = n === last ? "end" : x(n) < left + 30 ? "start" : "middle";
    drawn.append(written(n === last ? width - right : x(n), above - gap + 20, figure.days[n], { "text-anchor": anchor }));
  }
  return drawn;
}

// A row per cluster, from `start` on.
function heat(figure, width, start, cells, show) {
  const most = document.documentElement.clientWidth > 700 ? 34 : 16;
  const short = (text) => (text.length > most ? `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}` : text);
  const names = figure.names.slice(start, start + WINDOW).map(short);
  const left = 12 + LETTER * Math.max(...names.map((name) => name.length));
  const top = 64;
  const cell = (width - left - 24) / figure.codes.length;
  const drawn = picture(width, top + ROW * names.length + 8);
  figure.codes.forEach((code, at) => drawn.append(written(0, 0, code,
    { transform: `translate(${left + cell * (at + 0.5) + 4} ${top - 8}) rotate(-60)` })));
  names.forEach((name, n) => {
    const y = top + ROW * n;
    drawn.append(written(left - 8, y + 16, name, { "text-anchor": "end", class: "row" }));
    figure.places[start + n].forEach((place, at) => {
      const x = left + cell * at;
      const box = svg("g", {}, svg("title", {}, figure.words[start + n][at]),
        svg("rect", { x: x + 1, y: y + 1, width: Math.max(cell - 2, 1), height: ROW - 2, fill: cells[place][2] }),
        written(x + cell / 2, y + 16, figure.texts[start + n][at],
          { "text-anchor": "middle", fill: cells[place][2] === "none" ? "text" : "on" }));
      box.style.cursor = "pointer";
      box.addEventListener("click", () => show(start + n));
      drawn.append(box);
    });
  });
  return drawn;
}

function chartArea(given, cells, names, show) {
  const plots = [...document.querySelectorAll("[data-chart]")];
  const starts = {};

  function draw(place) {
    const name = place.dataset.chart;
    if (!given[name]) {
      place.replaceChildren(el("p", { class: "empty" }, "No data."));
      return;
    }
    const width = Math.max(place.clientWidth, 240);
    place.replaceChildren(name === "trend" ? trend(given.trend, width)
      : heat(given.heat, width, starts.heat || 0, cells, show));
    place.drawn = true;
  }

  function pager(box) {
    const name = box.dataset.pager;
    const [back, on] = box.querySelectorAll("button");
    const update = () => {
      const start = starts[name] || 0;
      const end = Math.min(start + WINDOW, names.length);
      box.querySelector("[data-range]").textContent = `clusters ${start + 1} to ${end} of ${names.length}`;
      back.disabled = start === 0;
      on.disabled = end >= names.length;
    };
    box.hidden = names.length <= WINDOW || !given[name];
    box.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      starts[name] = Math.max(0, (starts[name] || 0) + Number(button.dataset.step) * WINDOW);
      update();
      say(box.querySelector("[data-range]").textContent);
      // A button that was just disabled loses the focus; the other one gets it.
      if (button.disabled) (button === back ? on : back).focus();
      draw(document.querySelector(`[data-chart="${name}"]`));
    });
    update();
  }

  document.querySelectorAll("[data-pager]").forEach(pager);
  const heatTable = byId("heat-table");
  if (heatTable && given.heat) {
    heatTable.addEventListener("toggle", () => {
      if (heatTable.open && heatTable.childElementCount === 1) heatTable.append(heatTwin(given.heat, cells, names));
    });
  } else if (heatTable) heatTable.hidden = true;

  const drawAll = () => plots.filter((place) => place.drawn).forEach(draw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((entry) => {
    seen.unobserve(entry.target);
    draw(entry.target);
  }), { rootMargin: "600px" });
  plots.forEach((place) => seen.observe(place));
}

function heatTwin(figure, cells, names) {
  const { codes } = figure;
  const head = el("tr", {}, el("th", { scope: "col" }, "Cluster"), codes.map((code) => el("th", { scope: "col" }, code)));
  const rows = figure.places.map((line, n) => el("tr", {}, el("th", { scope: "row" }, names[n]),
    line.map((place, at) => el("td", {}, place === 1 ? "" : `${cells[place][0]} ${figure.texts[n][at].slice(1)}`.trim()))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Clusters and checks as a table" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
}
