// The screen of a run: the newest entry stays in view unless the reader is further up, and older ones are a click away.

import { isChanging, onChange } from "./live.js";
import { addKeys } from "./shell.js";

const main = document.getElementById("main");
const pill = document.getElementById("newer");
const page = document.documentElement;
/** How many entries of earlier windows are kept. */
const MOST = 4000;

// The newest entries --------------------------------------------------------------------------------------------------

const atEnd = () => innerHeight + scrollY >= page.scrollHeight - 80;
let below = atEnd();
/** Whether the end is to be shown with the next frame, and where it was shown last. */
let following = false;
let shown = Infinity;

function read() {
  if (!pill) return;
  pill.dataset.count = "0";
  pill.textContent = "";
  pill.hidden = true;
}

document.addEventListener("scroll", () => {
  // What grows or is cut at its start moves by itself, and that is no wish to read elsewhere.
  below = atEnd() || (below && (following || isChanging() || scrollY >= shown));
  if (atEnd()) shown = scrollY;
  if (below && pill && !pill.hidden) read();
});

// On a phone the selected view may be behind the edge.
const views = document.getElementById("tabs");
const here = views?.querySelector("[aria-current]");
if (views && here instanceof HTMLElement) views.scrollLeft = here.offsetLeft - (views.clientWidth - here.offsetWidth) / 2;

const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** Writes the local time of entries. @param {ParentNode} where */
function writeTimes(where) {
  for (const time of where.querySelectorAll("time.when")) {
    const text = clock.format(Number(/** @type {HTMLElement} */ (time).dataset.at));
    if (time.textContent !== text) time.textContent = text;
  }
}

onChange((patch, fresh) => {
  for (const id of Object.keys(patch.html)) {
    const entry = id.includes("-") && document.getElementById(id);
    if (entry && entry.matches(".entry, .log-line")) writeTimes(entry);
  }
  placeMarks();
  const count = fresh.filter((item) => ["transcript", "log"].includes(item.parentElement?.id ?? "")).length;
  if (!pill || !count) return;
  if (below) return follow();
  const unseen = Number(pill.dataset.count ?? 0) + count;
  pill.dataset.count = String(unseen);
  pill.textContent = `${unseen} new ↓`;
  requestAnimationFrame(() => (pill.hidden = atEnd() || page.scrollHeight <= innerHeight));
});

/** Shows the end with the next frame: the browser then lays out once, and nothing jumps. */
function follow() {
  if (following) return;
  following = true;
  requestAnimationFrame(() => {
    following = false;
    scrollTo(0, page.scrollHeight);
    shown = scrollY;
  });
}

// In a window of another size the end lies elsewhere.
addEventListener("resize", () => {
  shown = Infinity;
  if (below) follow();
});

/** Who moves up by hand reads there, also while much arrives. */
const stay = () => (below = false);
addEventListener("wheel", (event) => event.deltaY < 0 && stay(), { passive: true });
addEventListener("touchmove", stay, { passive: true });
addEventListener("keydown", (event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && stay());

pill?.addEventListener("click", (event) => {
  event.preventDefault();
  scrollTo(0, page.scrollHeight);
  read();
});

// Older entries -------------------------------------------------------------------------------------------------------

const earlier = document.getElementById("earlier");
let loading = false;

/** Puts the window before the first one above it, and keeps what is read where it is. */
async function loadOlder() {
  const link = /** @type {HTMLAnchorElement | null} */ (document.querySelector("#older a"));
  if (!link || !earlier || loading || earlier.childElementCount > MOST) return link && !earlier ? undefined : link?.href;
  loading = true;
  try {
    const answer = await fetch(link.href);
    const other = new DOMParser().parseFromString(await answer.text(), "text/html");
    const height = page.scrollHeight;
    const entries = [...other.querySelectorAll("#transcript > *")];
    entries.forEach((entry) => document.adoptNode(entry));
    const known = entries.filter((entry) => !document.getElementById(entry.id));
    earlier.prepend(...known);
    writeTimes(earlier);
    const next = other.querySelector("#older a");
    // The list of the newest has a link of its own, which would lead to the same again.
    const place = document.getElementById("older");
    if (place) {
      place.dataset.own = "yes";
      place.hidden = !next;
      link.href = next?.getAttribute("href") ?? "";
    }
    scrollBy(0, page.scrollHeight - height);
  } finally {
    loading = false;
  }
}

document.getElementById("older")?.addEventListener("click", (event) => {
  event.preventDefault();
  loadOlder();
});

// The time bar --------------------------------------------------------------------------------------------------------

/** Puts the marks where they belong: a style in the page itself is not allowed. */
function placeMarks() {
  for (const mark of document.querySelectorAll(".marks a")) {
    const { style, dataset } = /** @type {HTMLElement} */ (mark);
    style.left = `${Number(dataset.place) / 10}%`;
  }
}

/** Shows an entry that the page has. @param {string} id */
function show(id) {
  const entry = document.getElementById(id);
  if (!entry) return;
  const head = document.querySelector(".run-head");
  scrollTo(0, entry.getBoundingClientRect().top + scrollY - (head?.clientHeight ?? 0) - 72);
}

addEventListener("hashchange", () => show(location.hash.slice(1)));

/** Shows the first entry at or after a moment, if the page has what was before. Returns whether it does. @param {number} at */
function showMoment(at) {
  const entries = [...document.querySelectorAll(".entry[id]")];
  const time = (/** @type {Element} */ entry) => Number(/** @type {HTMLElement | null} */ (entry.querySelector("time.when"))?.dataset.at);
  const found = entries.find((entry) => time(entry) >= at) ?? entries.at(-1);
  const older = document.querySelector("#older a");
  if (!found || (older && found === entries[0])) return false;
  for (const before of document.querySelectorAll(".entry.here")) before.classList.remove("here");
  found.classList.add("here");
  below = false;
  show(found.id);
  return true;
}

/** What the slider is at, in words; the server does not know it. @param {HTMLInputElement} slider */
function nameMoment(slider) {
  slider.setAttribute("aria-valuetext", clock.format(Number(slider.value)));
  slider.title = clock.format(Number(slider.value));
}

document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider instanceof HTMLInputElement && slider.matches(".moment input[type=range]")) nameMoment(slider);
});
document.addEventListener("change", (event) => {
  const slider = event.target;
  if (!(slider instanceof HTMLInputElement) || !slider.matches(".moment input[type=range]")) return;
  const isLast = Number(slider.value) >= Number(slider.max) - Number(slider.step);
  if (main?.dataset.tab === "timeline" && isLast && !main.dataset.at) return scrollTo(0, page.scrollHeight);
  if (main?.dataset.tab === "timeline" && showMoment(Number(slider.value))) return;
  location.assign(isLast ? `${main?.dataset.here}?tab=timeline` : `${main?.dataset.here}?tab=timeline&at=${slider.value}`);
});

// Keys ----------------------------------------------------------------------------------------------------------------

/** @param {string} name */
const tab = (name) => () => location.assign(`${main?.dataset.here}?tab=${name}`);
addKeys({ t: tab("timeline"), f: tab("diff"), l: tab("log") });

// On a phone what is known about a run is a sheet, which is closed at first.
if (matchMedia("(max-width: 699px)").matches) for (const sheet of document.querySelectorAll("details.sheet")) sheet.removeAttribute("open");

// What sticks below the header has to know how high that is.
const header = document.querySelector(".run-top");
if (header) new ResizeObserver(() => page.style.setProperty("--head", `${/** @type {HTMLElement} */ (header).offsetHeight}px`)).observe(header);

writeTimes(document);
placeMarks();
for (const slider of document.querySelectorAll(".moment input[type=range]")) nameMoment(/** @type {HTMLInputElement} */ (slider));
if (main?.dataset.at) showMoment(Number(main.dataset.at));
else if (main?.dataset.tab === "timeline" && !location.hash && document.body.dataset.screen) {
  scrollTo(0, page.scrollHeight);
  below = true;
}
if (location.hash) show(location.hash.slice(1));
