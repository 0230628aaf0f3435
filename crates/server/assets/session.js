// The screen of a session: the newest entry stays in view unless the reader is further up.

import { onChange } from "./live.js";

const pill = document.getElementById("newer");
const page = document.documentElement;
const atEnd = () => innerHeight + scrollY >= page.scrollHeight - 80;
let below = atEnd();

document.addEventListener("scroll", () => {
  below = atEnd();
  if (!pill || pill.hidden || !below) return;
  pill.dataset.count = "0";
  pill.textContent = "";
  pill.hidden = true;
});

onChange((_, fresh) => {
  const count = fresh.filter((item) => item.parentElement?.id === "transcript").length;
  if (!pill || !count || page.scrollHeight <= innerHeight) return;
  if (below && scrollY > 0) return scrollTo(0, page.scrollHeight);
  const unseen = Number(pill.dataset.count ?? 0) + count;
  pill.dataset.count = String(unseen);
  pill.textContent = `${unseen} new ↓`;
  pill.hidden = false;
});
