(function () {
"use strict";
const form = document.getElementById("filter");
const find = document.getElementById("find");
const quiet = document.getElementById("quiet");
const found = document.getElementById("found");
const rows = [...document.querySelectorAll("#events tbody tr[data-theme]")];
const texts = rows.map((row) => row.textContent.toLowerCase());

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const themes = new Set([...form.querySelectorAll("input[name=theme]:checked")].map((box) => box.value));
  let shown = 0;
  rows.forEach((row, n) => {
    const fits = themes.has(row.dataset.theme) && words.every((word) => texts[n].includes(word)) &&
      (!row.classList.contains("plain") || !quiet || quiet.checked || words.length > 0);
    row.hidden = !fits;
    shown += fits;
  });
  found.textContent = shown + " of " + rows.length + " events";
}

if (rows.length) {
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { find.value = ""; filter(); event.preventDefault(); }
  });
  filter();
}

const figure = document.querySelector(".figure");
const lanes = document.querySelector(".lanes");
const zoom = document.querySelector(".zoom");
let size = 1;
function enlarge(to) {
  const middle = (figure.scrollLeft + figure.clientWidth / 2) / lanes.scrollWidth;
  size = Math.min(Math.max(to, 1), 64);
  lanes.style.setProperty("--zoom", size);
  figure.scrollLeft = middle * lanes.scrollWidth - figure.clientWidth / 2;
  zoom.querySelector("[data-zoom=out]").disabled = size === 1;
}
zoom.hidden = false;
zoom.addEventListener("click", (event) => {
  const how = event.target.dataset.zoom;
  if (how) { enlarge(how === "in" ? size * 2 : how === "out" ? size / 2 : 1); }
});
enlarge(1);
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((each) => { each.open = !each.classList.contains("twin"); });
});
document.documentElement.dataset.ready = "yes";
})();
