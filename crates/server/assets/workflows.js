// Workflows: the graph can be made larger and smaller. Its steps are links, so all else works without this.

import { addKeys } from "./shell.js";

const graph = document.getElementById("graph");
const picture = /** @type {SVGSVGElement | null} */ (graph?.querySelector("svg") ?? null);
const [width, height] = [Number(picture?.getAttribute("width")), Number(picture?.getAttribute("height"))];
const [SMALLEST, LARGEST, BY] = [0.2, 3, 1.25];
let scale = 1;

/** Shows the graph at a scale; what is in the middle stays there. @param {number} wanted */
function zoom(wanted) {
  if (!graph || !picture) return;
  const next = Math.min(LARGEST, Math.max(SMALLEST, wanted));
  const middle = [(graph.scrollLeft + graph.clientWidth / 2) / scale, (graph.scrollTop + graph.clientHeight / 2) / scale];
  scale = next;
  picture.setAttribute("width", String(Math.round(width * scale)));
  picture.setAttribute("height", String(Math.round(height * scale)));
  graph.scrollTo(middle[0] * scale - graph.clientWidth / 2, middle[1] * scale - graph.clientHeight / 2);
}

/** The scale at which all of it can be seen. */
function whole() {
  const room = innerHeight * 0.7;
  return graph ? Math.min(1, graph.clientWidth / width, room / height) : 1;
}

const steps = { in: () => zoom(scale * BY), out: () => zoom(scale / BY), all: () => zoom(whole()) };

for (const bar of document.querySelectorAll(".zoom")) bar.removeAttribute("hidden");
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-zoom]") : null;
  if (button instanceof HTMLElement) steps[/** @type {"in" | "out" | "all"} */ (button.dataset.zoom)]?.();
});
graph?.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(scale * (event.deltaY < 0 ? BY : 1 / BY));
  },
  { passive: false },
);
addKeys({ "+": steps.in, "=": steps.in, "-": steps.out, 0: steps.all });
if (picture) {
  zoom(Math.max(whole(), Math.min(1, (graph?.clientWidth ?? width) / width)));
  picture.querySelector(".selected")?.scrollIntoView({ block: "nearest", inline: "center" });
}
