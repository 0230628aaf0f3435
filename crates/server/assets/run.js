// The screen of a run: the newest entry stays in view unless the reader is further up, and older ones are a click away.

import { onChange } from "./live.js";
import { addKeys } from "./shell.js";

const main = document.getElementById("main");
const pill = document.getElementById("newer");
const page = document.documentElement;
/** How many entries of earlier windows are kept. */
const MOST = 4000;

// The newest entries --------------------------------------------------------------------------------------------------

const atEnd = () => innerHeight + scrollY >= page.scrollHeight - 80;
let below = atEnd();

function read() {
  if (!pill) return;
  pill.dataset.count = "0";
  pill.textContent = "";
  pill.hidden = true;
}

document.addEventListener("scroll", () => {
  below = atEnd();
  if (below && pill && !pill.hidden) read();
});

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
  if (!pill || !count || page.scrollHeight <= innerHeight) return;
  if (below && scrollY > 0) return scrollTo(0, page.scrollHeight);
  const unseen = Number(pill.dataset.count ?? 0) + count;
  pill.dataset.count = String(unseen);
  pill.textContent = `${unseen} new ↓`;
  pill.hidden = false;
});

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
if (main?.dataset.tab === "timeline" && !location.hash && document.body.dataset.screen) {
  scrollTo(0, page.scrollHeight);
  below = true;
}
if (location.hash) show(location.hash.slice(1));
