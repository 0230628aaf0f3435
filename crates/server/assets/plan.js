// The screen of a plan: keys, and the selected task.

import { addKeys } from "./shell.js";

const base = document.getElementById("main")?.dataset.base ?? "";

/** @param {string} selector */
const follow = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.click();

/** The line of the chosen task. @param {Element | null} row */
const lineOf = (row) => (row instanceof HTMLElement ? row.dataset.line : undefined) ?? new URLSearchParams(location.search).get("task");

addKeys({
  e: (row) => lineOf(row) && location.assign(`${base}?task=${lineOf(row)}&form=edit`),
  n: (row) => location.assign(lineOf(row) ? `${base}?task=${lineOf(row)}&form=add` : `${base}?form=add`),
  o: () => follow(".plan-panel [data-run]"),
});

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (target.matches("input, textarea, select")) target.blur();
  else if (location.search) {
    // Else the browser takes the key for "stop loading".
    event.preventDefault();
    location.assign(base);
  }
});

const line = new URLSearchParams(location.search).get("task");
const row = line && document.getElementById(`line-${line}`);
if (row) row.setAttribute("data-kept", "selected");
if (row && !document.querySelector("[autofocus]")) row.focus({ preventScroll: true });
