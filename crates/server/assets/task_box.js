// The task box: what a task would get while it is written, and five seconds to take it back before anything costs money.

import { say } from "./forms.js";

const WAIT = 5;
const PAUSE = 250;
const box = /** @type {HTMLFormElement | null} */ (document.getElementById("task-box"));
const field = /** @type {HTMLInputElement} */ (box?.elements.namedItem("text"));
const line = document.getElementById("task-line");

/** @typedef {{ agents: string[], permission: string, limit: number | null, problem: string | null }} Choices */
/** @type {Choices | undefined} */
let choices;
let agent = 0;
/** @type {{ name: string, score?: number, because?: string }[]} */
let skills = [];
/** @type {number | undefined} */
let timer;
let asked = 0;
/** The project that was asked for. */
let picked = "";

/** @param {string} tag @param {string} name @param {string} text */
function make(tag, name, text) {
  return Object.assign(document.createElement(tag), { className: name, textContent: text });
}

/** The chosen project: of the filter, else the only one. */
function project() {
  const select = /** @type {HTMLSelectElement | null} */ (document.querySelector(".choose select"));
  const all = [...(select?.options ?? [])].filter((option) => option.value);
  return picked || select?.value || (all.length === 1 ? all[0].value : "");
}

async function look() {
  const turn = ++asked;
  const of = project();
  if (!field.value.trim()) return hide();
  if (of) {
    const answer = await fetch(`/page/task?${new URLSearchParams({ project: of })}`).catch(() => undefined);
    if (answer?.ok) choices = await answer.json();
  }
  const query = new URLSearchParams({ task: field.value, ...(of ? { projectId: of } : {}) });
  const answer = await fetch(`/api/skills/try?${query}`).catch(() => undefined);
  const found = answer?.ok ? await answer.json() : undefined;
  if (turn !== asked || timer !== undefined) return;
  skills = (found?.chosen ?? []).map((/** @type {any} */ it) => ({ name: it.name, score: it.fit, because: it.because }));
  show();
}

/** What the task would get. */
function show() {
  if (!line) return;
  const parts = skills.slice(0, 4).map((skill) => {
    const chip = make("span", "chip skill", skill.name);
    chip.title = skill.because ?? "";
    if (typeof skill.score === "number") chip.append(make("span", "score", ` ${skill.score.toFixed(1)}`));
    return chip;
  });
  if (!parts.length) parts.push(make("span", "aside", "no skill fits"));
  if (choices?.problem) parts.push(make("span", "state bad", `✗ ${choices.problem}`));
  else if (choices?.agents.length) parts.push(make("span", "chip agent", choices.agents[agent % choices.agents.length]));
  if ((choices?.agents.length ?? 0) > 1) parts.push(make("kbd", "", "Tab"));
  line.replaceChildren(...parts);
  line.hidden = false;
}

function hide() {
  picked = "";
  if (line) line.hidden = true;
}

/** Asks which project is meant. */
function askProject() {
  const from = /** @type {HTMLSelectElement | null} */ (document.querySelector(".choose select"));
  if (!from) return say("No project yet: run `maestro init` in a repository.");
  const select = document.createElement("select");
  select.name = "project";
  select.setAttribute("aria-label", "Project of the task");
  select.append(new Option("which project?", ""), ...[...(from?.options ?? [])].filter((it) => it.value).map((it) => new Option(it.text, it.value)));
  select.addEventListener("change", async () => {
    picked = select.value;
    await look();
    count();
  });
  line?.replaceChildren(select);
  if (line) line.hidden = false;
  select.focus();
}

/** Counts down, and then starts it. */
function count() {
  const of = project();
  if (!line || !field.value.trim()) return;
  if (!of) return askProject();
  if (choices?.problem) return say(`Not started: ${choices.problem}.`);
  let left = WAIT;
  const name = choices?.agents[agent % (choices.agents.length || 1)] ?? "";
  const limit = choices?.limit ? ` · limit $${choices.limit}` : "";
  const words = make("span", "words", "");
  const undo = make("button", "", "Undo");
  const change = make("button", "", "Change");
  for (const button of [undo, change]) button.setAttribute("type", "button");
  const tell = () => (words.textContent = `starts in ${left} s · ${name} · ${choices?.permission ?? "edits"}${limit}`);
  tell();
  line.replaceChildren(words, undo, change);
  line.hidden = false;
  undo.focus();
  undo.addEventListener("click", () => {
    stop();
    hide();
    field.focus();
  });
  change.addEventListener("click", () => {
    stop();
    options(of, name);
  });
  timer = setInterval(() => {
    left -= 1;
    tell();
    if (left > 0) return;
    stop();
    start({ project: of, agent: name });
  }, 1000);
}

function stop() {
  clearInterval(timer);
  timer = undefined;
}

/** Shows what can be chosen, and starts it when that is said. @param {string} of @param {string} name */
function options(of, name) {
  if (!line) return;
  const pick = (/** @type {string} */ label, /** @type {string[]} */ words, /** @type {string} */ chosen) => {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    select.append(...words.map((word) => new Option(word, word, false, word === chosen)));
    return select;
  };
  const agents = pick("Agent", choices?.agents ?? [], name);
  const rights = pick("What it may do without asking", ["ask", "edits", "all"], choices?.permission ?? "edits");
  const limit = Object.assign(document.createElement("input"), { type: "text", inputMode: "decimal", size: 4, value: String(choices?.limit ?? "") });
  limit.setAttribute("aria-label", "Limit in dollars");
  const go = make("button", "primary", "Start");
  const undo = make("button", "", "Cancel");
  for (const button of [go, undo]) button.setAttribute("type", "button");
  go.addEventListener("click", () => start({ project: of, agent: agents.value, permission: rights.value, limit: limit.value }));
  undo.addEventListener("click", hide);
  line.replaceChildren(agents, rights, make("span", "aside", "limit $"), limit, go, undo);
  agents.focus();
}

/** @param {Record<string, string>} with_ */
async function start(with_) {
  const fields = new URLSearchParams({ text: field.value, back: document.body.dataset.screen ?? "/", ...with_ });
  const answer = await fetch("/page/task/start", { method: "POST", body: fields, redirect: "manual" }).catch(() => undefined);
  if (answer?.type === "opaqueredirect") {
    say("Started.");
    field.value = "";
    hide();
    return;
  }
  const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
  say(page?.getElementById("why")?.textContent ?? "Failed: the server does not respond.");
}

if (box && line) {
  box.hidden = false;
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    if (timer === undefined) look().then(count);
  });
  /** @type {number | undefined} */
  let soon;
  field.addEventListener("input", () => {
    stop();
    clearTimeout(soon);
    soon = setTimeout(look, PAUSE);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      stop();
      hide();
      field.blur();
    }
    if (event.key === "Tab" && !event.shiftKey && (choices?.agents.length ?? 0) > 1 && field.value.trim() && timer === undefined) {
      event.preventDefault();
      agent += 1;
      show();
    }
  });
}

/** Goes to the task box. */
export function newTask() {
  field?.focus();
}
