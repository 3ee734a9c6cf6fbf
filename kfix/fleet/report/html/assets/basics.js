// Shared helpers. Text enters the page as text only: no name is parsed as HTML.
const byId = (id) => document.getElementById(id);

function el(tag, given, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (name === "on") for (const [event, call] of Object.entries(value)) made.addEventListener(event, call);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const json = (id) => JSON.parse(byId(id).textContent);

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const amount = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const badge = (word, kind) => el("span", { class: `badge ${kind || word}` }, word);
const status = (word) => el("span", { class: "status" }, word);

function say(text) {
  byId("said").textContent = text;
}

function trouble(text) {
  const place = byId("trouble");
  place.textContent = text;
  place.hidden = false;
}

function command(line) {
  const button = el("button", { type: "button", class: "copy", "data-copy": line }, "Copy");
  return el("div", { class: "command" }, el("code", {}, line), button);
}

async function copy(button) {
  const text = button.getAttribute("data-copy");
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch (refused) {
    // Some browsers deny the clipboard to a page opened from a folder; execCommand works there.
    const field = el("textarea", { readonly: true, "aria-hidden": "true", class: "unseen" });
    field.value = text;
    document.body.append(field);
    field.select();
    done = document.execCommand("copy");
    field.remove();
    button.focus();
  }
  button.textContent = done ? "Copied" : "Select and copy";
  say(done ? "Command copied" : "The command could not be copied; select it instead");
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}
