// The palette (Ctrl-K): goes to a screen, a task, a session, a run, a skill or a workflow by a few of its letters.

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("palette"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("palette-words"));
const list = /** @type {HTMLUListElement} */ (document.getElementById("palette-list"));
const SHOWN = 12;

/** @typedef {{ kind: string, title: string, about: string, href: string }} Goal */

/** @type {Goal[]} */
let goals = [];
/** @type {Goal[]} */
let found = [];
let at = 0;

/** The screens in the rail. @returns {Goal[]} */
const screens = () =>
  [...document.querySelectorAll("nav.rail > a")].map((link) => ({ kind: "screen", title: link.textContent?.trim() ?? "", about: "", href: link.getAttribute("href") ?? "/" }));

/** @param {string} path @returns {Promise<any[]>} */
async function read(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } }).catch(() => undefined);
  return answer?.ok ? answer.json() : [];
}

/** A state as people read it. @param {string | undefined} state */
const word = (state) => (state === "waiting" ? "waiting for you" : state ?? "");

/** What can be gone to. @returns {Promise<Goal[]>} */
async function gather() {
  const lists = ["/api/sessions?limit=500", "/api/tasks?limit=1000", "/api/runs?limit=500", "/api/skills", "/api/workflows"];
  const [sessions, tasks, runs, skills, workflows] = await Promise.all(lists.map(read));
  const titles = new Map(tasks.map((task) => [task.id, task.title]));
  const goals = sessions.map((it) => ({ kind: "session", title: titles.get(it.taskIds?.[0]) ?? it.name ?? it.id, about: [it.agentId, word(it.state)].filter(Boolean).join(" · "), href: `/sessions/${it.id}` }));
  if (document.querySelector('nav.rail a[href="/work"]')) {
    for (const it of tasks) goals.push({ kind: "task", title: it.title, about: word(it.state), href: `/work?task=${it.id}` });
  }
  if (document.body.dataset.runs) {
    for (const it of runs) goals.push({ kind: "run", title: titles.get(it.taskId) ?? it.workflow ?? it.id, about: word(it.state), href: `/runs/${it.id}` });
  }
  for (const it of skills) goals.push({ kind: "skill", title: it.id, about: it.description ?? "", href: `/skills/${encodeURIComponent(it.id)}` });
  for (const it of workflows) goals.push({ kind: "workflow", title: it.name, about: it.description ?? "", href: `/workflows/${it.name.split("/").map(encodeURIComponent).join("/")}` });
  return goals.reverse();
}

/** How well a goal fits the words: every word must be in it, at the start of a word is best. @param {Goal} goal @param {string[]} words */
function score(goal, words) {
  const text = `${goal.title} ${goal.about} ${goal.kind}`.toLowerCase();
  let sum = goal.kind === "screen" ? 2 : 0;
  for (const word of words) {
    const place = text.indexOf(word);
    if (place < 0) return -1;
    sum += place === 0 ? 3 : /\s/.test(text[place - 1]) ? 2 : 1;
  }
  return sum;
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const scored = goals.map((goal) => ({ goal, score: score(goal, words) })).filter((it) => it.score >= 0);
  found = scored.sort((a, b) => b.score - a.score).slice(0, SHOWN).map((it) => it.goal);
  at = Math.min(at, Math.max(0, found.length - 1));
  list.replaceChildren(...found.map(row));
  if (!found.length) list.append(Object.assign(document.createElement("li"), { className: "none", textContent: "Nothing found." }));
  field.setAttribute("aria-activedescendant", found.length ? `goal-${at}` : "");
}

/** @param {Goal} goal @param {number} index */
function row(goal, index) {
  const item = document.createElement("li");
  item.id = `goal-${index}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", String(index === at));
  for (const [name, text] of [["kind", goal.kind], ["title", goal.title], ["about", goal.about]]) {
    item.append(Object.assign(document.createElement("span"), { className: name, textContent: text }));
  }
  item.addEventListener("click", () => (location.href = goal.href));
  return item;
}

/** Opens the palette. */
export async function openPalette() {
  if (dialog.open) return;
  [field.value, at, goals] = ["", 0, screens()];
  dialog.showModal();
  field.focus();
  show();
  goals = [...goals, ...(await gather())];
  show();
}

field?.addEventListener("input", () => {
  at = 0;
  show();
});
dialog?.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length);
    show();
  }
  if (event.key === "Enter") {
    event.preventDefault();
    if (found[at]) location.href = found[at].href;
  }
});
dialog?.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
