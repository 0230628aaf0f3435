// Keeps an open page current. The server renders fragments and says which lists they are in; this puts them there.
// Nothing depends on it: without script the page shows the same as of when it was loaded.

/**
 * @typedef {object} Patch
 * @property {number} now the server's clock, in milliseconds
 * @property {number} waiting how many things wait for the person
 * @property {Object<string, string[]>} lists the ids in each list
 * @property {Object<string, string>} html fragments that changed, by id
 */

const body = document.body;
const byId = (/** @type {string} */ id) => document.getElementById(id);
const QUIET = 60_000;
const OFFLINE = 30_000;

/** How far the server's clock is ahead of ours. */
let ahead = Number(body.dataset.now) - Date.now();

// Fragments -----------------------------------------------------------------------------------------------------------

/** @param {string} html @returns {Element} */
function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return /** @type {Element} */ (template.content.firstElementChild);
}

/**
 * Makes one element like another and keeps what the person did with it: focus, what is typed, what is open.
 * @param {Element} old @param {Element} fresh
 */
function become(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old instanceof HTMLTextAreaElement) return;
  const [have, want] = [[...old.childNodes], [...fresh.childNodes]];
  want.forEach((node, index) => {
    const there = have[index];
    if (!there) old.append(node);
    else if (there instanceof Element && node instanceof Element) become(there, node);
    else if (there.nodeType !== node.nodeType) there.replaceWith(node);
    else if (there.nodeValue !== node.nodeValue) there.nodeValue = node.nodeValue;
  });
  have.slice(want.length).forEach((node) => node.remove());
}

/** @param {Patch} patch */
function apply(patch) {
  ahead = patch.now - Date.now();
  const below = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  let fresh = 0;
  for (const [id, html] of Object.entries(patch.html)) {
    const there = byId(id);
    if (!there) continue;
    const held = there.contains(document.activeElement);
    become(there, element(html));
    if (held && !there.contains(document.activeElement)) goOn(there);
  }
  for (const [name, ids] of Object.entries(patch.lists)) {
    const list = byId(name);
    if (!list) continue;
    // What is visible keeps its place; what is new comes below.
    for (const child of [...list.children]) if (!ids.includes(child.id)) leave(child);
    for (const [index, id] of ids.entries()) {
      if (byId(id)) continue;
      if (!patch.html[id]) return location.reload();
      const made = element(patch.html[id]);
      made.classList.add("new");
      // In an ordered list, an item may also appear in the middle or at the start.
      const before = list.dataset.ordered ? byId(ids[index - 1]) : list.lastElementChild;
      if (before) before.after(made);
      else list.prepend(made);
      if (list.dataset.ordered) fresh += 1;
    }
  }
  follow(below, fresh);
  for (const title of document.querySelectorAll("title")) title.textContent = (patch.waiting ? `(${patch.waiting}) ` : "") + (body.dataset.title ?? "Maestro");
  const icon = byId("icon");
  if (icon) icon.setAttribute("href", (patch.waiting ? icon.dataset.waits : icon.dataset.calm) ?? "");
  enhance();
  tick();
}

/** Keeps the newest entry in view; a reader further up gets a link to it. @param {boolean} below @param {number} fresh */
function follow(below, fresh) {
  const pill = byId("newer");
  const { scrollHeight } = document.documentElement;
  if (!pill || !fresh || scrollHeight <= innerHeight) return;
  if (below && scrollY > 0) return scrollTo(0, scrollHeight);
  const unseen = Number(pill.dataset.count ?? 0) + fresh;
  pill.dataset.count = String(unseen);
  pill.textContent = `${unseen} new ↓`;
  pill.hidden = false;
}

document.addEventListener("scroll", () => {
  const pill = byId("newer");
  if (!pill || pill.hidden || innerHeight + scrollY < document.documentElement.scrollHeight - 80) return;
  pill.dataset.count = "0";
  pill.textContent = "";
  pill.hidden = true;
});

/** @param {Element} gone */
function leave(gone) {
  if (gone.contains(document.activeElement)) goOn(gone);
  gone.remove();
}

/** Moves the focus from a removed element to the next one. @param {Element} from */
function goOn(from) {
  const next = from.nextElementSibling ?? from.previousElementSibling;
  /** @type {HTMLElement | null | undefined} */ (next?.querySelector("textarea, summary, .acts button") ?? next)?.focus({ preventScroll: true });
}

// Time ----------------------------------------------------------------------------------------------------------------

/** `3:12`, as the server writes it. @param {number} since @param {number} now */
function elapsed(since, now) {
  const s = Math.max(0, Math.floor((now - since) / 1000));
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return d ? `${d} d ${h % 24} h` : h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

/** `12 min ago`, as the server writes it. @param {number} then @param {number} now */
function ago(then, now) {
  const m = Math.floor(Math.max(0, now - then) / 60_000);
  return m < 1 ? "just now" : m < 60 ? `${m} min ago` : m < 1440 ? `${Math.floor(m / 60)} h ago` : `${Math.floor(m / 1440)} d ago`;
}

function tick() {
  const now = Date.now() + ahead;
  for (const time of document.querySelectorAll("time")) {
    const { since, active, ago: then, until } = time.dataset;
    if (!time.title) time.title = new Date(time.dateTime).toLocaleString();
    if (!since && !then && !until) continue;
    const quiet = active && now - Number(active) >= QUIET;
    const text = until ? elapsed(now, Number(until)) : then ? ago(Number(then), now) : quiet ? `quiet ${elapsed(Number(active), now)}` : elapsed(Number(since), now);
    if (time.textContent !== text) time.textContent = text;
  }
  connection();
}

// The connection ------------------------------------------------------------------------------------------------------

/** @type {number | undefined} when it was lost */
let lost = Date.now();
let seen = body.dataset.seq ?? "";
/** @type {EventSource} */
let source;
/** Whether the stream said that it is this page's server. */
let known = false;

/** Another server answers at this page's address: what it says is not about what is shown here. */
function refuse() {
  source.close();
  lost ??= Date.now();
  say("Another Maestro server answers at this address. Reload to see it.");
}

function connect() {
  known = false;
  const query = new URLSearchParams({ server: body.dataset.server ?? "", project: body.dataset.project ?? "", session: body.dataset.session ?? "", build: body.dataset.build ?? "", seen });
  source = new EventSource(`/page/live?${query}`);
  source.addEventListener("server", (event) => {
    known = JSON.parse(event.data).id === body.dataset.server;
    if (!known) refuse();
  });
  source.addEventListener("foreign", refuse);
  source.addEventListener("patch", (event) => {
    if (!known) return refuse();
    lost = undefined;
    seen = event.lastEventId || seen;
    apply(JSON.parse(event.data));
  });
  source.addEventListener("reload", () => {
    source.close();
    const typed = [...document.querySelectorAll("textarea")].some((field) => field.value);
    if (typed) say("Maestro was updated. Send your message, then reload the page.");
    else location.reload();
  });
  source.addEventListener("error", () => {
    lost ??= Date.now();
    connection();
    // The browser comes back by itself unless it was refused.
    if (source.readyState !== EventSource.CLOSED) return;
    askHealth();
    setTimeout(connect, 1000);
  });
}

/** Shows why the server refuses: it says how it is even when its database cannot be read. */
async function askHealth() {
  const banner = byId("health");
  const answer = await fetch("/health").catch(() => undefined);
  if (!banner || !answer?.ok) return;
  const [first, ...more] = (await answer.json()).degraded ?? [];
  const also = more.length ? ` (and ${more.length} more)` : "";
  banner.textContent = first ? `Degraded since ${new Date(first.since).toISOString()}: ${first.what}: ${first.reason}${also}` : "";
  banner.hidden = !first;
}

function connection() {
  const live = byId("live");
  const words = live?.querySelector(".words");
  if (!live || !words) return;
  const gone = lost === undefined ? 0 : Date.now() - lost;
  const state = lost === undefined ? "live" : gone < OFFLINE ? "lost" : "off";
  const at = lost === undefined ? "" : new Date(lost).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const text = { live: "live", lost: `reconnecting ${Math.round(gone / 1000)} s`, off: `offline since ${at}: shown state may be old` }[state];
  if (live.dataset.state !== state) live.dataset.state = state;
  if (words.textContent !== text) words.textContent = text;
}

/** Shows a message for a while. @param {string} text */
function say(text) {
  const word = byId("word");
  if (!word) return;
  word.textContent = text;
  word.hidden = false;
  setTimeout(() => (word.hidden = true), 8000);
}

// What the person does ------------------------------------------------------------------------------------------------

document.addEventListener("submit", async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "post") return;
  event.preventDefault();
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  const fields = new URLSearchParams(/** @type {any} */ (new FormData(form, button)));
  const address = button?.getAttribute("formaction") ?? form.getAttribute("action") ?? "";
  try {
    const answer = await fetch(address, { method: "POST", body: fields, redirect: "manual" });
    if (answer.type === "opaqueredirect") {
      if (button?.dataset.done) say(button.dataset.done);
      return form.reset();
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    say(page.getElementById("why")?.textContent ?? `Failed (${answer.status}).`);
  } catch {
    say("Failed: the server does not respond.");
  } finally {
    delete form.dataset.sending;
  }
});

document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement) event.target.form?.submit();
});

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("button.copy") : null;
  const text = button?.parentElement?.querySelector("code")?.textContent;
  if (button && text) navigator.clipboard.writeText(text).then(() => (button.textContent = "Copied"));
});

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target instanceof HTMLTextAreaElement && event.key === "Enter" && (event.ctrlKey || event.metaKey)) target.form?.requestSubmit();
  if (event.key === "Escape" && target.matches("textarea")) target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("textarea, select, input")) return;
  const stops = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".card, .row > summary, .row.ended, .group")]);
  const here = stops.findIndex((stop) => stop.contains(document.activeElement) || stop.parentElement === document.activeElement?.closest(".row"));
  const row = stops[here]?.closest(".card, .row");
  const screen = document.querySelector(".session");
  // On a session's own screen its questions, its words and its course need not be chosen first.
  const press = (/** @type {string} */ what) => /** @type {HTMLElement | null} */ ((row ?? screen?.closest("main"))?.querySelector(what))?.click();
  /** @type {Object<string, () => void>} */
  const keys = {
    j: () => stops[Math.min(here + 1, stops.length - 1)]?.focus(),
    k: () => stops[Math.max(here - 1, 0)]?.focus(),
    s: () => {
      if (row instanceof HTMLDetailsElement) row.open = true;
      (row?.querySelector("textarea") ?? document.querySelector(".talk textarea"))?.focus();
    },
    p: () => press("button.pause"),
    a: () => press("button[data-key=a]"),
    A: () => press("button[data-key=A]"),
    d: () => press("button[data-key=d]"),
    "?": () => /** @type {HTMLDialogElement} */ (byId("keys")).showModal(),
  };
  if (event.key === "Enter" && target.matches(".card")) keys.s();
  else if (event.key === "Enter" && target.matches(".row.ended")) target.querySelector("a")?.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});

/** Shows what needs scripts, and hides what is only for pages without. */
function enhance() {
  for (const shy of document.querySelectorAll("button.copy, #hint")) shy.removeAttribute("hidden");
  for (const button of document.querySelectorAll(".choose button")) button.setAttribute("hidden", "");
}

enhance();
connect();
tick();
setInterval(tick, 1000);
