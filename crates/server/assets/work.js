// The columns of work: cards are moved by dragging, or with `m` and a letter.

import { post, say } from "./forms.js";
import { onChange } from "./live.js";
import { addKeys } from "./shell.js";

const MOVES = /** @type {Object<string, string>} */ ({ q: "queued", w: "working", y: "waiting", r: "ready", d: "done" });

/** The task that the focus follows to another column. */
let followed = "";

/** Moves a task. @param {string} task @param {string} to */
async function moveTask(task, to) {
  const body = new URLSearchParams({ to, back: document.body.dataset.screen ?? "/work" });
  const answer = await post(`/page/tasks/${encodeURIComponent(task)}/move`, body).catch(() => undefined);
  if (!answer) return say("Failed: the server does not respond.");
  if (answer.type === "opaqueredirect") return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  say(page.getElementById("why")?.textContent ?? `Failed (${answer.status}).`);
}

/** The task of a card. @param {EventTarget | Element | null} target */
const cardOf = (target) => (target instanceof Element ? target.closest("[data-task]") : null);
/** @param {EventTarget | null} target */
const columnOf = (target) => (target instanceof Element ? target.closest("[data-column]") : null);

document.addEventListener("dragstart", (event) => {
  const card = cardOf(event.target);
  if (!(card instanceof HTMLElement) || !event.dataTransfer) return;
  event.dataTransfer.setData("text/plain", card.dataset.task ?? "");
  event.dataTransfer.effectAllowed = "move";
  card.classList.add("lifted");
});

document.addEventListener("dragend", () => {
  for (const marked of document.querySelectorAll(".lifted, .drop")) marked.classList.remove("lifted", "drop");
});

document.addEventListener("dragover", (event) => {
  const column = columnOf(event.target);
  for (const other of document.querySelectorAll(".drop")) if (other !== column) other.classList.remove("drop");
  if (!column || !document.querySelector(".lifted")) return;
  event.preventDefault();
  column.classList.add("drop");
});

document.addEventListener("drop", (event) => {
  const column = columnOf(event.target);
  const task = event.dataTransfer?.getData("text/plain");
  if (!(column instanceof HTMLElement) || !task || !document.querySelector(".lifted")) return;
  event.preventDefault();
  moveTask(task, column.dataset.column ?? "");
});

/** Goes to the first card of the column before or after. @param {number} by */
function goColumn(by) {
  const columns = [...document.querySelectorAll("[data-column]")].filter((column) => column.querySelector(".task-card"));
  const here = columns.findIndex((column) => column.contains(document.activeElement));
  const next = columns[Math.max(0, Math.min(here < 0 ? 0 : here + by, columns.length - 1))];
  const card = /** @type {HTMLElement | null | undefined} */ (next?.querySelector(".task-card"));
  card?.focus();
  card?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Whether `m` was pressed just now, and for which task. */
let moving = { task: "", at: 0 };

/** The task of the chosen card, or of the drawer. @param {Element | null} row */
function chosenTask(row) {
  const card = cardOf(row);
  if (card instanceof HTMLElement) return card.dataset.task ?? "";
  return new URLSearchParams(location.search).get("task") ?? "";
}

document.addEventListener(
  "keydown",
  (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (target.matches("input, textarea, select")) return target.blur();
      if (document.querySelector(".drawer:not([hidden])") && !document.querySelector("dialog[open]")) {
        // Else the browser takes the key for "stop loading".
        event.preventDefault();
        location.assign(/** @type {HTMLElement} */ (document.getElementById("main")).dataset.closed ?? "/work");
      }
      return;
    }
    if (!moving.task || Date.now() - moving.at > 3000 || target.matches("input, textarea, select")) return;
    const to = MOVES[event.key];
    const { task } = moving;
    moving = { task: "", at: 0 };
    if (!to) return;
    event.preventDefault();
    event.stopPropagation();
    followed = cardOf(target) ? task : "";
    moveTask(task, to);
  },
  true,
);

addKeys({
  h: () => goColumn(-1),
  l: () => goColumn(1),
  n: () => /** @type {HTMLElement | null} */ (document.getElementById("new-title"))?.focus(),
  m: (row) => {
    moving = { task: chosenTask(row), at: Date.now() };
    if (moving.task) say("Move to: q queued, w working, y waiting for you, r ready, d done");
    else if (row?.hasAttribute("data-run")) say("A run moves by itself: open it to pause, answer or merge it.");
    else say("Choose a card first, with j and k.");
  },
});

onChange(() => {
  if (!followed) return;
  const card = document.querySelector(`[data-task="${CSS.escape(followed)}"]`);
  if (!(card instanceof HTMLElement) || card === document.activeElement) return;
  card.focus({ preventScroll: true });
  followed = "";
});
