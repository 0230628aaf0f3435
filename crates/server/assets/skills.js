// Skills: a task is tried while it is written; what is shown comes from the same page, rendered by the server.

import { addKeys } from "./shell.js";

const PAUSE = 250;
const form = /** @type {HTMLFormElement | null} */ (document.getElementById("try-form"));
const field = /** @type {HTMLInputElement | null} */ (document.getElementById("try-task"));
const result = document.getElementById("try-result");
const search = /** @type {HTMLInputElement | null} */ (document.getElementById("skill-search"));
let asked = 0;
/** @type {number | undefined} */
let soon;

async function tryTask() {
  if (!form || !field || !result) return;
  const turn = ++asked;
  const words = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  if (!field.value.trim()) words.delete("task");
  const address = `${form.getAttribute("action")}${words.size ? `?${words}` : ""}`;
  const answer = field.value.trim() ? await fetch(address).catch(() => undefined) : undefined;
  if (turn !== asked) return;
  const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : undefined;
  const fresh = page?.getElementById("try-result");
  result.replaceChildren(...(fresh ? fresh.childNodes : []));
  for (const button of result.querySelectorAll("button.copy")) button.removeAttribute("hidden");
  history.replaceState(null, "", address);
}

field?.addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(tryTask, PAUSE);
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  event.stopPropagation();
  clearTimeout(soon);
  tryTask();
});
document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.closest(".filters")) event.target.form?.submit();
});
// Only the list scrolls to the skill that is shown; the page stays where it begins.
const chosen = document.querySelector(".skill-row[aria-current]");
const list = chosen?.closest(".shelf-list > :last-child");
if (chosen instanceof HTMLElement && list) list.scrollTop = chosen.offsetTop - list.clientHeight / 2;
for (const box of [field, search]) {
  box?.addEventListener("keydown", (event) => {
    if (event.key === "Escape") box.blur();
  });
}

addKeys({
  t: () => field?.focus(),
  "/": () => {
    search?.focus();
    search?.select();
  },
});
