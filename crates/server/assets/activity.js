// Activity: `/` goes to the search.

import { addKeys } from "./shell.js";

const field = /** @type {HTMLInputElement | null} */ (document.getElementById("search"));

addKeys({
  "/": () => {
    field?.focus();
    field?.select();
  },
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement === field) field?.blur();
});

document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.closest(".filters")) event.target.form?.submit();
});
