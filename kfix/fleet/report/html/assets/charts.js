// Draws the charts when they come near the viewport; the library is unpacked for the first one.
const WINDOW = 30;
const ROW = 24;

function chartArea(given, colours, cells, names, show) {
  const plots = [...document.querySelectorAll("[data-chart]")];
  const starts = {};
  let library = null;

  function loaded() {
    if (!library) {
      library = unpacked(byId("library").textContent).then((script) => {
        document.head.append(el("script", {}, script));
        byId("library").remove();
        if (!window.Plotly) throw new Error("the chart library did not start");
        return window.Plotly;
      });
    }
    return library;
  }

  // The figures have the colours of the light scheme; they are replaced by those of the active scheme.
  function coloured(value, style) {
    if (typeof value === "string") return colours[value] ? style.getPropertyValue(`--${colours[value]}`).trim() : value;
    if (Array.isArray(value)) return value.map((v) => coloured(v, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v, style)]));
  }

  // The visible rows of a chart with a row per cluster, from `start` on.
  function cut(name, figure) {
    const total = names.length;
    if (name !== "heat") return figure;
    const start = starts[name] || 0;
    const end = Math.min(start + WINDOW, total);
    const part = (list) => (Array.isArray(list) && list.length === total ? list.slice(start, end) : list);
    const trace = { ...figure.data[0] };
    for (const key of ["y", "z", "text", "customdata"]) trace[key] = part(trace[key]);
    const yaxis = { ...figure.layout.yaxis, tickvals: part(figure.layout.yaxis.tickvals),
      ticktext: part(figure.layout.yaxis.ticktext), autorange: false, range: [end - 0.5, start - 0.5] };
    return { data: [trace], layout: { ...figure.layout, yaxis } };
  }

  function height(name) {
    const { t, b } = given[name].layout.margin;
    if (name === "trend") return 320;
    const rows = Math.min(WINDOW, names.length - (starts[name] || 0));
    return rows * ROW + t + b;
  }

  // On a small window: shorter names, fewer days.
  function narrow(name, figure) {
    if (document.documentElement.clientWidth > 700) return figure;
    if (name === "trend") {
      const axis = { nticks: 3, dtick: null, tickangle: 0 };
      const { xaxis, xaxis2, ...rest } = figure.layout;
      return { ...figure, layout: { ...rest, xaxis: { ...xaxis, ...axis }, xaxis2: { ...xaxis2, ...axis } } };
    }
    if (!figure.layout.yaxis.ticktext) return figure;
    const short = (text) => (text.length > 16 ? `${text.slice(0, 7)}…${text.slice(-8)}` : text);
    const { data: [trace], layout } = figure;
    return { data: [trace], layout: { ...layout, yaxis: { ...layout.yaxis, ticktext: layout.yaxis.ticktext.map(short) } } };
  }

  async function draw(place) {
    const name = place.dataset.chart;
    if (!given[name]) {
      place.replaceChildren(el("p", { class: "empty" }, "No data."));
      return;
    }
    try {
      const Plotly = await loaded();
      const style = getComputedStyle(document.documentElement);
      const figure = narrow(name, coloured(cut(name, given[name]), style));
      const layout = { ...figure.layout, height: height(name), autosize: true,
        font: { ...figure.layout.font, family: getComputedStyle(document.body).fontFamily } };
      if (!place.drawn) place.replaceChildren();
      await Plotly.react(place, figure.data, layout, { displayModeBar: false, responsive: true, scrollZoom: false });
      if (!place.drawn && name === "heat") {
        place.on("plotly_click", (event) => show(event.points[0].y));
      }
      place.drawn = true;
    } catch (error) {
      place.replaceChildren(el("p", { class: "empty" }, `The chart could not be drawn: ${error.message}`));
    }
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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((entry) => {
    seen.unobserve(entry.target);
    draw(entry.target);
  }), { rootMargin: "600px" });
  plots.forEach((place) => seen.observe(place));
}

function heatTwin(figure, cells, names) {
  const trace = figure.data[0];
  const codes = figure.layout.xaxis.ticktext;
  const head = el("tr", {}, el("th", { scope: "col" }, "Cluster"), codes.map((code) => el("th", { scope: "col" }, code)));
  const rows = trace.z.map((line, n) => el("tr", {}, el("th", { scope: "row" }, names[n]),
    line.map((place, at) => el("td", {}, place === 1 ? "" : `${cells[place][0]} ${trace.text[n][at].slice(1)}`.trim()))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Clusters and checks as a table" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
}
