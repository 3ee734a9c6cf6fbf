// The table of clusters: opening rows, filtering, sorting.
function partitionFits(parts, word) {
  const at = word.lastIndexOf("-");
  const digits = at > 0 && /^\d+$/.test(word.slice(at + 1)) ? word.slice(at + 1) : null;
  return parts.some(([topic, runs]) => {
    const name = topic.toLowerCase();
    if (name.includes(word)) return true;
    if (digits === null || !name.endsWith(word.slice(0, at))) return false;
    return runs.split(" ").some((run) => {
      const [first, last] = run.split("-").map(Number);
      return Number(digits) >= first && Number(digits) <= (last === undefined ? first : last);
    });
  });
}

function clusterTable(data, packedDetails) {
  const body = byId("cluster-table").tBodies[0];
  const rows = [...body.rows];
  const words = data.clusters.map((c) => [c.name, c.owner, c.criticality, ...c.tags,
    c.collected ? "" : "unknown", c.maintenance ? "maintenance" : ""].join(" ").toLowerCase());
  let wanted = [];

  const headText = (head) => head.text || (head.text = [head.code, (data.checks[head.code] || {}).slug, head.object,
    head.summary, head.severity, head.status, head.muted ? "muted" : "", head.prevention ? "latent risk" : ""]
    .join(" ").toLowerCase());

  function fits(place, head) {
    return wanted.every((word) =>
      words[place].includes(word) || headText(head).includes(word) || partitionFits(head.parts, word));
  }

  const clusterFits = (place) => wanted.every((word) => words[place].includes(word));

  function insideOf(row) {
    const next = row.nextElementSibling;
    return next && next.classList.contains("inside") ? next : null;
  }

  async function open(row, wish) {
    const place = Number(row.dataset.place);
    const button = row.querySelector(".opener");
    const there = insideOf(row);
    const opening = wish === undefined ? !there || there.hidden : wish;
    button.setAttribute("aria-expanded", String(opening));
    if (there) { there.hidden = !opening; if (opening) await fill(there, place); return; }
    if (!opening) return;
    const cell = el("td", { colspan: row.cells.length });
    const inside = el("tr", { class: "inside", id: `inside-${place}` }, cell);
    button.setAttribute("aria-controls", inside.id);
    row.after(inside);
    await fill(inside, place);
  }

  const details = new Map();
  async function detailsOf(place) {
    if (!details.has(place)) details.set(place, JSON.parse(await unpacked(packedDetails[place])));
    return details.get(place);
  }

  async function fill(inside, place, all = false) {
    const cluster = data.clusters[place];
    const more = await detailsOf(place);
    const showAll = all || !wanted.length || clusterFits(place);
    const state = `${showAll} ${wanted.join(" ")}`;
    if (inside.state === state) return;
    inside.state = state;
    const titles = new Map(cluster.findings.map((head) => [head.key, `${head.code} ${head.object}`]));
    const titleOf = (key) => titles.get(key) || key;
    const places = cluster.findings.map((_, n) => n).filter((n) => showAll || fits(place, cluster.findings[n]));
    const left = cluster.findings.length - places.length;
    const boxes = places.map((n) => findingBox(cluster.findings[n], more[n], data.checks, titleOf));
    inside.cells[0].replaceChildren(...clusterLines(cluster, boxes.length), ...boxes);
    if (left) {
      const button = el("button", { type: "button", on: { click: () => fill(inside, place, true) } },
        `Show ${amount(left, "more finding")} hidden by the filter`);
      inside.cells[0].append(button);
    }
  }

  function filter(text) {
    wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    let clusters = 0;
    let findings = 0;
    for (const row of rows) {
      const place = Number(row.dataset.place);
      const heads = data.clusters[place].findings;
      const whole = clusterFits(place);
      const hits = !wanted.length || whole ? heads.length : heads.filter((head) => fits(place, head)).length;
      const shown = !wanted.length || whole || hits > 0;
      row.hidden = !shown;
      const inside = insideOf(row);
      const expanded = row.querySelector(".opener").getAttribute("aria-expanded") === "true";
      if (inside) inside.hidden = !shown || !expanded;
      if (inside && shown && expanded) fill(inside, place);
      const note = row.querySelector(".hits");
      note.hidden = !wanted.length || !shown;
      const fitting = whole ? `matches; ${amount(heads.length, "finding")}` : `${amount(hits, "finding")} ${hits === 1 ? "matches" : "match"}`;
      note.textContent = wanted.length ? fitting : "";
      if (shown) { clusters += 1; findings += hits; }
    }
    byId("none-found").hidden = clusters > 0;
    byId("cluster-table").dataset.filter = text;
    byId("found").textContent = wanted.length
      ? `${clusters} of ${amount(rows.length, "cluster")}, ${amount(findings, "finding")} match the filter.`
      : `${amount(rows.length, "cluster")}, ${amount(findings, "finding")}, including fixed and muted ones.`;
    return clusters;
  }

  function sort(button) {
    const head = button.closest("th");
    const at = head.cellIndex;
    const numbers = button.dataset.sort === "number";
    const before = head.getAttribute("aria-sort");
    const down = before === "none" ? numbers && at > 1 : before === "ascending";
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => (numbers ? Number(row.cells[at].dataset.v) : row.cells[at].dataset.v);
    // Unknown values (negative) stay on top in either direction.
    const unknown = (row) => numbers && value(row) < 0;
    rows.sort((a, b) => unknown(b) - unknown(a)
      || (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1)
      || a.dataset.place - b.dataset.place);
    const pieces = [];
    for (const row of rows) { const inside = insideOf(row); pieces.push(row); if (inside) pieces.push(inside); }
    body.append(...pieces);
    say(`Sorted by ${button.textContent}, ${down ? "descending" : "ascending"}`);
  }

  body.addEventListener("click", (event) => {
    const button = event.target.closest(".opener");
    if (button) open(button.closest("tr"));
  });
  byId("cluster-table").tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) sort(button);
  });

  async function show(place) {
    const row = rows.find((r) => r.dataset.place === String(place));
    if (!row) return;
    await open(row, true);
    row.scrollIntoView({ block: "start" });
    row.querySelector(".opener").focus({ preventScroll: true });
  }

  return { filter, show };
}

function clusterLines(cluster, n) {
  const lines = [];
  if (cluster.maintenance) lines.push(el("p", {}, el("strong", {}, "In maintenance: "), cluster.maintenance));
  if (cluster.collected) lines.push(el("p", { class: "soft" }, cluster.seen));
  else lines.push(el("p", {}, badge("unknown"), ` could not be read: ${cluster.why || "no reason given"}`));
  if (cluster.past.length > 1) lines.push(...pastLine(cluster.past));
  if (!n) lines.push(el("p", {}, cluster.collected ? "No findings." : "State unknown."));
  else if (!cluster.collected) lines.push(el("p", {}, "Findings of the last audit that read it:"));
  return lines;
}

function pastLine(past) {
  const shown = past.slice(-14);
  const text = shown.map(([, score]) => (score < 0 ? "unknown" : score)).join(", ");
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  const [wide, high] = [220, 36];
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.setAttribute("width", wide);
  svg.setAttribute("height", high);
  svg.setAttribute("class", "past");
  svg.setAttribute("aria-hidden", "true");
  let run = [];
  const draw = () => {
    const line = document.createElementNS(ns, "polyline");
    line.setAttribute("points", run.join(" "));
    if (run.length > 1) svg.append(line);
    run = [];
  };
  past.forEach(([, score], n) => {
    if (score < 0) draw();
    else run.push(`${(2 + n * (wide - 4) / (past.length - 1)).toFixed(1)},${(2 + (100 - score) * (high - 4) / 100).toFixed(1)}`);
  });
  draw();
  return [el("p", { class: "soft" }, `Score of the last ${shown.length} audits: ${text}`), svg];
}
