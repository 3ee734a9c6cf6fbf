// Starts after the first paint.
async function start() {
  const data = JSON.parse(await unpacked(byId("index").textContent));
  const table = clusterTable(data, json("details"));
  const field = byId("search");
  const clear = byId("clear");

  let waiting = 0;
  function search(text) {
    field.value = text;
    clear.hidden = !text;
    table.filter(text);
  }
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { search(field.value); say(byId("found").textContent); }, 120);
  });
  clear.addEventListener("click", () => { search(""); field.focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !field.value) return;
    search("");
    field.focus();
    say("Filter cleared");
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-open], [data-search]");
    if (!button) return;
    if (button.dataset.copy !== undefined) copy(button);
    else if (button.dataset.open !== undefined) { search(""); table.show(button.dataset.open); }
    else { search(button.dataset.search); byId("clusters").scrollIntoView(); field.focus({ preventScroll: true }); }
  });
  // The field may already have text: typed while the page loaded, or restored by the browser after a reload.
  search(field.value);
  const figures = JSON.parse(await unpacked(byId("figures").textContent));
  chartArea(figures, json("cells"), data.clusters.map((c) => c.name), (place) => {
    search("");
    table.show(place);
  });
  document.documentElement.dataset.ready = "yes";
}

if (typeof DecompressionStream === "undefined") {
  trouble("This browser is too old for charts, search and details (it cannot unpack gzip). All tables are shown.");
} else {
  requestAnimationFrame(() => setTimeout(() => {
    start().catch((error) => trouble(`The report could not be unpacked: ${error.message}`));
  }));
}
