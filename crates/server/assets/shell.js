// The shell around every screen: keys, dialogs, and what only works with scripts.

import { tick } from "./clock.js";
import "./forms.js";
import { onChange } from "./live.js";
import { openPalette } from "./palette.js";
import { newTask } from "./task_box.js";

const byId = (/** @type {string} */ id) => document.getElementById(id);

/** What `j` and `k` go through. */
const STOPS = ".card, .row, .group, [data-stop]";

/** @type {Object<string, (row: Element | null) => void>} keys of the screen */
const own = {};

/** Adds keys of a screen; each function gets the row the focus is in. @param {Object<string, (row: Element | null) => void>} keys */
export function addKeys(keys) {
  Object.assign(own, keys);
}

/** The row or card the focus is in. */
const chosen = () => document.activeElement?.closest(STOPS) ?? null;

/** @param {number} by */
function move(by) {
  const stops = [...document.querySelectorAll(STOPS)].filter((stop) => /** @type {HTMLElement} */ (stop).offsetParent);
  const here = stops.findIndex((stop) => stop.contains(document.activeElement));
  const next = stops[Math.max(0, Math.min(here + by, stops.length - 1))];
  const focus = next?.matches("details") ? next.querySelector("summary") : next;
  /** @type {HTMLElement | null | undefined} */ (focus)?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Presses a control of the chosen row, or of the whole screen where it is about one thing. @param {string} what */
export function press(what) {
  const row = chosen() ?? document.querySelector("main[data-one]");
  /** @type {HTMLElement | null | undefined} */ (row?.querySelector(what))?.click();
}

/** Goes to the field of the chosen row, or of the screen. */
function write() {
  const row = chosen();
  for (const box of row?.querySelectorAll("details.speak") ?? []) box.setAttribute("open", "");
  const field = row?.querySelector("textarea") ?? document.querySelector(".talk textarea");
  /** @type {HTMLElement | null} */ (field)?.focus();
}

/** @type {Object<string, (row: Element | null) => void>} */
const keys = {
  j: () => move(1),
  k: () => move(-1),
  s: write,
  n: newTask,
  p: () => press("button.pause"),
  a: () => press("button[data-key=a]"),
  A: () => press("button[data-key=A]"),
  d: () => press("button[data-key=d]"),
  "?": () => /** @type {HTMLDialogElement} */ (byId("keys")).showModal(),
};

/** Whether `g` was pressed just now. */
let going = 0;

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return openPalette();
  }
  // A dialog that was closed a moment ago still has the focus.
  const typing = !target.closest("dialog:not([open])") && (target.matches("textarea, select, input") || target.isContentEditable);
  if (event.ctrlKey || event.metaKey || event.altKey || typing || target.closest("dialog[open]")) return;
  const row = chosen();
  if (Date.now() - going < 1500) {
    going = 0;
    /** @type {HTMLElement | null} */ (document.querySelector(`[data-go="${CSS.escape(event.key)}"]`))?.click();
    return event.preventDefault();
  }
  if (event.key === "g") going = Date.now();
  else if (event.key === "Enter" && target.matches(".card")) write();
  else if (event.key === "Enter" && target.matches(STOPS)) /** @type {HTMLElement | null} */ (target.matches("a") ? target : target.querySelector("a"))?.click();
  else if (own[event.key]) own[event.key](row);
  else if (keys[event.key]) keys[event.key](row);
  else return;
  event.preventDefault();
}

/** Shows what needs scripts, and hides what is only for pages without. */
function enhance() {
  for (const shy of document.querySelectorAll("button.copy, #hint, .palette-open")) shy.removeAttribute("hidden");
  for (const button of document.querySelectorAll(".choose button, .moment-go")) button.setAttribute("hidden", "");
}

document.addEventListener("keydown", onKey);
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.closest(".palette-open")) openPalette();
});
onChange(enhance);
enhance();
tick();
setInterval(tick, 1000);
