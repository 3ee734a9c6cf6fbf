// One finding, from its summary to its partitions. `head` is from the index, `more` from the cluster's details.
function findingHeading(head) {
  return el("span", { class: "heading" },
    badge(head.severity), " ", status(head.status), " ",
    head.muted ? [badge("muted", "muted"), " "] : null,
    el("code", {}, head.code), " ", el("strong", {}, head.object), ": ", head.summary, " ",
    head.prevention ? status("latent risk") : null);
}

function findingBox(head, more, checks, titleOf) {
  const off = head.muted || head.status === "fixed";
  const box = el("details", { class: `finding ${off ? "off" : head.severity}` }, el("summary", {}, findingHeading(head)));
  let filled = false;
  box.addEventListener("toggle", () => {
    if (!box.open || filled) return;
    filled = true;
    box.append(...findingBody(head, more, checks, titleOf));
  });
  return box;
}

function findingBody(head, more, checks, titleOf) {
  const check = checks[head.code];
  const body = [];
  if (check) body.push(el("p", { class: "soft" }, `${check.slug}: ${check.title}`));
  if (head.muted) body.push(el("p", {}, el("strong", {}, "Muted: "), more.mute || "no reason given"));
  if (head.head) body.push(el("p", {}, "Consequence of ", el("strong", {}, titleOf(head.head)), "."));
  body.push(el("p", { class: "soft" },
    `Seen since ${more.since}${more.unsettled ? "; unsettled: it began moments ago" : ""}`));
  body.push(el("p", {}, el("strong", {}, `Cause (${more.confidence}): `), more.cause));
  body.push(...blockedLines(more.blocked || {}));
  if (more.evidence.length) body.push(el("h4", {}, "Evidence"), evidenceTable(more.evidence));
  body.push(el("h4", {}, "Remedies, safest first"), el("ol", {}, more.remedies.map(remedyItem)));
  if (!more.remedies.some((remedy) => remedy.command)) body.push(command(more.next));
  if (more.never.length) {
    body.push(el("h4", {}, "Do not"), el("ul", {}, more.never.map((text) => el("li", {}, text))));
  }
  if (head.parts.length) body.push(partitionBox(head));
  return body;
}

function remedyItem(remedy) {
  return el("li", {}, String(remedy.text || ""), remedy.command ? command(String(remedy.command)) : null);
}

function blockedLines(blocked) {
  const said = [];
  if (blocked.who) said.push(String(blocked.who));
  if (blocked.groups && blocked.groups.length) said.push(`groups ${blocked.groups.join(", ")}`);
  if (blocked.others_unknown) said.push("possibly other groups: no source can list them");
  return said.length ? [el("p", {}, el("strong", {}, "Blocked: "), said.join("; "))] : [];
}

function evidenceTable(rows) {
  const head = ["Source", "What", "Value", "Age"].map((word) => el("th", { scope: "col" }, word));
  const body = rows.map((row) => el("tr", {},
    el("td", {}, String(row.source)), el("td", {}, String(row.what)), el("td", {}, el("code", {}, String(row.value))),
    el("td", { class: "n" }, typeof row.age === "number" ? `${Math.round(row.age)} s` : "")));
  return el("div", { class: "scroll evidence", tabindex: "0", role: "region", "aria-label": "Evidence" },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

function* partitionNames(parts) {
  for (const [topic, runs] of parts) {
    if (!runs) yield topic;
    for (const run of runs ? runs.split(" ") : []) {
      const [first, last] = run.split("-").map(Number);
      for (let n = first; n <= (last === undefined ? first : last); n += 1) yield `${topic}-${n}`;
    }
  }
}

const NAMES_SHOWN = 300;

function partitionBox(head) {
  const box = el("details", {}, el("summary", {}, amount(head.n, "partition")));
  box.addEventListener("toggle", () => {
    if (!box.open || box.childElementCount > 1) return;
    const names = [...partitionNames(head.parts)];
    const field = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    const list = el("div", { class: "names", tabindex: "0", role: "group", "aria-label": "Partitions" });
    const count = el("p", { class: "soft small", role: "status" });
    const fill = () => {
      const wanted = field.value.trim().toLowerCase();
      const fit = names.filter((name) => name.toLowerCase().includes(wanted));
      list.replaceChildren(...fit.slice(0, NAMES_SHOWN).map((name) => el("code", {}, name)));
      const cut = fit.length > NAMES_SHOWN ? `; the first ${NAMES_SHOWN} are shown` : "";
      count.textContent = `${fit.length} of ${amount(names.length, "partition")}${cut}`;
    };
    field.addEventListener("input", fill);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !field.value) return;
      event.stopPropagation();
      field.value = "";
      fill();
    });
    box.append(el("div", { class: "inner" }, el("label", {}, "Filter these partitions ", field), count, list));
    fill();
  });
  return box;
}
