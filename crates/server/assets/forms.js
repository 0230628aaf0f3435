// Forms of the page: sent without leaving it, with the answer as a short message.

/** Shows a message for a while. @param {string} text */
export function say(text) {
  const word = document.getElementById("word");
  if (!word) return;
  word.textContent = text;
  word.hidden = false;
  setTimeout(() => (word.hidden = true), 8000);
}

/** How the server tells this page from others. */
export const pageName = crypto.randomUUID?.() ?? String(Math.random());

/** Sends fields to the server, as this page. @param {string} address @param {URLSearchParams} fields */
export function post(address, fields) {
  return fetch(address, { method: "POST", body: fields, redirect: "manual", headers: { "maestro-page": pageName } });
}

document.addEventListener("submit", async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "post" || form.dataset.plain) return;
  event.preventDefault();
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  const fields = new URLSearchParams(/** @type {any} */ (new FormData(form, button)));
  fields.set("page", pageName);
  const address = button?.getAttribute("formaction") ?? form.getAttribute("action") ?? "";
  try {
    const answer = await post(address, fields);
    if (answer.type === "opaqueredirect") {
      const card = /** @type {HTMLElement | null} */ (form.closest(".card"));
      const said = button ?? /** @type {HTMLElement | null} */ (form.querySelector("button[data-done]"));
      const done = said?.dataset.done ?? (card ? "Answered." : undefined);
      if (card && done) card.dataset.answer = done;
      else if (done) say(done);
      form.closest("details.speak")?.removeAttribute("open");
      if (form.dataset.leads) return location.assign(form.dataset.leads);
      return form.reset();
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    say(page.getElementById("why")?.textContent ?? `Failed (${answer.status}).`);
  } catch {
    say("Failed: the server does not respond.");
  } finally {
    delete form.dataset.sending;
  }
});

document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.closest(".choose")) event.target.form?.submit();
});

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("button.copy") : null;
  const code = button?.parentElement?.querySelector("code");
  const text = button?.dataset.text ?? code?.textContent;
  if (!button || !text) return;
  // Over the local network browsers keep the clipboard to themselves; then the text is marked, to be copied by hand.
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => (button.textContent = "Copied"));
  else if (code) {
    code.textContent = text;
    getSelection()?.selectAllChildren(code);
  }
});

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (!(target instanceof HTMLTextAreaElement)) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) target.form?.requestSubmit();
  if (event.key === "Escape") target.blur();
});
