// Keeps an open page current. The server renders fragments and says which lists they are in; this puts them there.
// Nothing depends on it: without script the page shows the same as of when it was loaded.

import { namesOf, showChanges } from "./changes.js";
import { setClock, tick } from "./clock.js";
import { pageName, say } from "./forms.js";
import { noteWaiting } from "./notices.js";

/**
 * @typedef {object} Patch
 * @property {number} now the server's clock, in milliseconds
 * @property {number} waiting how many things wait for the person
 * @property {Object<string, string[]>} lists the ids in each list
 * @property {Object<string, string>} html fragments that changed, by id
 * @property {Object<string, {words: string, who: string, page?: string}>} settled how cards were answered that are gone
 * @property {import("./changes.js").Change[]} changes who changed what a moment ago
 */

const body = document.body;
const byId = (/** @type {string} */ id) => document.getElementById(id);
const OFFLINE = 30_000;
/** How many items a list that grows has at most. */
const GROWN = 600;
/** How high the line of an answered card is. */
const SETTLED = 32;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** @type {((patch: Patch, fresh: Element[]) => void)[]} */
const followers = [];

/** Calls a function after every change of the page, with what is new in it. @param {(patch: Patch, fresh: Element[]) => void} follower */
export function onChange(follower) {
  followers.push(follower);
}

// Fragments -----------------------------------------------------------------------------------------------------------

/** @param {string} html @returns {Element} */
function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return /** @type {Element} */ (template.content.firstElementChild);
}

/** What the person or a script of the page sets, and the server does not know. */
const KEPT = ["open", "data-answer", "data-by"];

/**
 * Makes one element like another and keeps what the person did with it: focus, what is typed, what is open.
 * @param {Element} old @param {Element} fresh
 */
function become(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.hasAttribute("data-own")) return;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !KEPT.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old instanceof HTMLTextAreaElement) return;
  const [have, want] = [[...old.childNodes], [...fresh.childNodes]];
  want.forEach((node, index) => {
    const there = have[index];
    if (!there) old.append(node);
    else if (there instanceof Element && node instanceof Element) become(there, node);
    else if (there.nodeType !== node.nodeType) there.replaceWith(node);
    else if (there.nodeValue !== node.nodeValue) {
      there.nodeValue = node.nodeValue;
      fade(there.parentElement);
    }
  });
  have.slice(want.length).forEach((node) => node.remove());
}

/** New words of an agent fade in. @param {Element | null} place */
function fade(place) {
  if (!calm.matches && place?.closest(".run .words")) place.animate([{ opacity: 0.2 }, { opacity: 1 }], 120);
}

/** For how many milliseconds a patch is applied before the browser may draw and hear the person. */
const TURN = 24;
let turn = 0;

/** Gives the browser a turn, if this one was long. */
async function breathe() {
  if (performance.now() - turn < TURN) return;
  const { scheduler } = /** @type {any} */ (globalThis);
  await (scheduler?.yield ? scheduler.yield() : new Promise((go) => setTimeout(go)));
  turn = performance.now();
}

/** @type {Patch[]} patches that wait for the one before */
const queue = [];
let applying = false;

/** Whether the page is being changed: it may grow and move by itself then. */
export function isChanging() {
  return applying;
}

/** Applies a patch after those before it. @param {Patch} patch */
async function take(patch) {
  queue.push(patch);
  if (applying) return;
  applying = true;
  turn = performance.now();
  try {
    for (let next = queue.shift(); next; next = queue.shift()) await apply(next);
  } finally {
    applying = false;
  }
}

/** @param {Patch} patch */
async function apply(patch) {
  setClock(patch.now);
  const named = namesOf(patch.changes);
  /** @type {Element[]} */
  const fresh = [];
  for (const [id, html] of Object.entries(patch.html)) {
    const there = byId(id);
    if (!there) continue;
    const held = there.contains(document.activeElement);
    become(there, element(html));
    if (held && !there.contains(document.activeElement)) goOn(there);
    await breathe();
  }
  for (const [name, ids] of Object.entries(patch.lists)) {
    const list = byId(name);
    if (!list) continue;
    const wanted = new Set(ids);
    // A list that grows keeps what the server no longer sends, as far as it lies before what it does.
    const first = list.dataset.grows && ids.length ? byId(ids[0]) : null;
    let isKept = first !== null;
    // What is visible keeps its place; what is new comes below.
    for (const child of [...list.children]) {
      if (child === first) isKept = false;
      if (!wanted.has(child.id) && !isKept) leave(child, patch.settled?.[child.id]);
    }
    while (first && list.childElementCount > GROWN) list.firstElementChild?.remove();
    for (const [index, id] of ids.entries()) {
      if (byId(id)) continue;
      if (!patch.html[id]) return location.reload();
      const made = element(patch.html[id]);
      made.classList.add("new");
      // In an ordered list, an item may also appear in the middle or at the start.
      const before = list.dataset.ordered ? byId(ids[index - 1]) : list.lastElementChild;
      if (before) before.after(made);
      else list.prepend(made);
      fresh.push(made);
      await breathe();
    }
  }
  for (const title of document.querySelectorAll("head > title")) title.textContent = (patch.waiting ? `(${patch.waiting}) ` : "") + (body.dataset.title ?? "Maestro");
  const icon = byId("icon");
  if (icon) icon.setAttribute("href", (patch.waiting ? icon.dataset.waits : icon.dataset.calm) ?? "");
  noteWaiting(patch.waiting);
  for (const follower of followers) follower(patch, fresh);
  showChanges(patch.changes, named);
  tick();
}

/** @param {Element} gone @param {{words: string, who: string, page?: string}} [answer] */
function leave(gone, answer) {
  if (gone.matches(".settled")) return;
  const held = gone.contains(document.activeElement);
  if (held) goOn(gone);
  if (gone.matches(".card")) settle(/** @type {HTMLElement} */ (gone), answer);
  else gone.remove();
}

/** Moves the focus from a removed element to the next one. @param {Element} from */
function goOn(from) {
  const next = from.nextElementSibling ?? from.previousElementSibling;
  const target = next?.matches("[tabindex]") ? next : next?.querySelector("textarea, summary, .acts button");
  /** @type {HTMLElement | null | undefined} */ (target ?? document.querySelector("#waits-head"))?.focus({ preventScroll: true });
}

/**
 * A card that was answered becomes a line for a moment, and then goes. Who answered is said where that was not this page.
 * @param {HTMLElement} card @param {{words: string, who: string, page?: string}} [answer]
 */
function settle(card, answer) {
  const own = card.dataset.answer ?? (answer?.page === pageName ? answer?.words : undefined);
  const words = own ?? (answer ? `${answer.words} by ${answer.who}` : "no longer waits");
  const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const line = document.createElement("p");
  line.className = "settled";
  line.textContent = `${words.replace(/\.$/, "")}, ${at}`;
  const height = card.offsetHeight;
  card.replaceWith(line);
  const shrink = (/** @type {number} */ from, /** @type {number} */ to) =>
    line.animate([{ height: `${from}px` }, { height: `${to}px` }], { duration: calm.matches ? 0 : 120, easing: "ease-out" });
  shrink(height, SETTLED);
  setTimeout(() => (shrink(SETTLED, 0).onfinish = () => line.remove()), 5000);
}

// The connection ------------------------------------------------------------------------------------------------------

/** @type {number | undefined} when it was lost */
let lost = Date.now();
/** Whether the page was current before it was lost. */
let wasLive = false;
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
  const query = new URLSearchParams({ screen: body.dataset.screen ?? "/", server: body.dataset.server ?? "", build: body.dataset.build ?? "", seen });
  source = new EventSource(`/page/live?${query}`);
  source.addEventListener("server", (event) => {
    known = JSON.parse(event.data).id === body.dataset.server;
    if (!known) refuse();
  });
  source.addEventListener("foreign", refuse);
  source.addEventListener("patch", (event) => {
    if (!known) return refuse();
    if (lost !== undefined && wasLive) say("Connected again: restored from the log, nothing lost.");
    [lost, wasLive] = [undefined, true];
    seen = event.lastEventId || seen;
    take(JSON.parse(event.data));
    connection();
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

/** Says how the connection is; nothing while all is well. */
function connection() {
  const live = byId("live");
  const words = live?.querySelector(".words");
  if (!live || !words) return;
  const gone = lost === undefined ? 0 : Date.now() - lost;
  const state = lost === undefined ? "live" : gone < OFFLINE ? "lost" : "off";
  const at = lost === undefined ? "" : new Date(lost).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const text = { live: "live", lost: `reconnecting ${Math.round(gone / 1000)} s`, off: `offline since ${at}: shown state may be old` }[state];
  if (live.dataset.state !== state) live.dataset.state = state;
  if (words.textContent !== text) words.textContent = text;
}

if (body.dataset.screen) {
  connect();
  setInterval(connection, 1000);
}
