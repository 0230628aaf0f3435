// Who changed what: said beside it for a moment, where that was not this page.

import { pageName, say } from "./forms.js";

/**
 * @typedef {object} Change
 * @property {number} number its place among the changes of this server
 * @property {string} subject the id of the task, the session or the run
 * @property {string} words what was done to it
 * @property {string} who who did it
 * @property {string} [page] the page that did it
 */

/** How long it is said, in milliseconds. */
const SHOWN = 8000;
/** The last change that is known; those before the page was opened are none of its business. */
let last = Infinity;

/** Where a task, a session or a run is shown: its rows and cards, and the screen or drawer that is about it. @param {string} subject */
function placesOf(subject) {
  const id = CSS.escape(subject);
  const found = [...document.querySelectorAll(`.row[id*="${id}"], .task-card[id*="${id}"]`)];
  const { pathname, search } = location;
  if (pathname.endsWith(`/${subject}`)) found.push(...document.querySelectorAll("#about"));
  if (new URLSearchParams(search).get("task") === subject) found.push(...document.querySelectorAll("#drawer .drawer-head"));
  return found;
}

/** The changes that were not said yet and that others made. @param {Change[]} changes */
const fresh = (changes) => changes.filter((change) => change.number > last && change.page !== pageName);

/** What is changed is called so, as long as it is still shown. @param {Change[]} changes @returns {Map<string, string>} */
export function namesOf(changes) {
  const names = new Map();
  for (const { subject } of fresh(changes ?? [])) {
    const title = placesOf(subject).map((place) => place.querySelector(".title, .card-title")?.textContent).find(Boolean);
    if (title) names.set(subject, title.trim());
  }
  return names;
}

/** Says who made these changes. @param {Change[]} changes @param {Map<string, string>} names */
export function showChanges(changes, names) {
  const news = fresh(changes ?? []);
  last = Math.max(last === Infinity ? 0 : last, ...(changes ?? []).map((change) => change.number));
  for (const { subject, words, who } of news) {
    const text = `${words} by ${who}`;
    const places = placesOf(subject);
    for (const place of places) {
      place.setAttribute("data-by", text);
      setTimeout(() => place.getAttribute("data-by") === text && place.removeAttribute("data-by"), SHOWN);
    }
    const name = names.get(subject);
    if (places.length) announce(name ? `${name}: ${text}` : text);
    else if (name) say(`${name}: ${text}.`);
  }
}

/** Tells it to those who do not see it. @param {string} text */
function announce(text) {
  const heard = document.getElementById("changes");
  if (heard) heard.textContent = text;
}
