// Times on the page, written as the server writes them and kept current.

const QUIET = 60_000;

/** How far the server's clock is ahead of ours. */
let ahead = Number(document.body.dataset.now) - Date.now();

/** Follows the server's clock. @param {number} now */
export function setClock(now) {
  ahead = now - Date.now();
}

/** The server's time. */
export const serverNow = () => Date.now() + ahead;

/** `3:12`. @param {number} since @param {number} now */
export function elapsed(since, now) {
  const s = Math.max(0, Math.floor((now - since) / 1000));
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return d ? `${d} d ${h % 24} h` : h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

/** `12 min ago`. @param {number} then @param {number} now */
export function ago(then, now) {
  const m = Math.floor(Math.max(0, now - then) / 60_000);
  return m < 1 ? "just now" : m < 60 ? `${m} min ago` : m < 1440 ? `${Math.floor(m / 60)} h ago` : `${Math.floor(m / 1440)} d ago`;
}

/** `14:03` today, `Sun 18:40` before. @param {number} then */
function atClock(then) {
  const [at, now] = [new Date(then), new Date(serverNow())];
  const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  if (at.toDateString() === now.toDateString()) return time;
  const week = now.getTime() - then < 6 * 86_400_000;
  return `${at.toLocaleDateString([], week ? { weekday: "short" } : { day: "numeric", month: "short" })} ${time}`;
}

/**
 * Writes every time: `data-since` counts (with `data-active`: "quiet" after a minute without a sign), `data-until`
 * counts down, `data-ago` is rough, `data-clock` is the local time.
 */
export function tick() {
  const now = serverNow();
  for (const time of document.querySelectorAll("time:not(.when)")) {
    const { since, active, ago: then, until, clock } = time.dataset;
    if (!time.title) time.title = new Date(time.dateTime).toLocaleString();
    if (!since && !then && !until && !clock) continue;
    const quiet = active && now - Number(active) >= QUIET;
    const text = until ? elapsed(now, Number(until)) : then ? ago(Number(then), now) : clock ? atClock(Number(clock)) : quiet ? `quiet ${elapsed(Number(active), now)}` : elapsed(Number(since), now);
    if (time.textContent !== text) time.textContent = text;
  }
}
