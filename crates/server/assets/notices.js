// Notifications of this browser: only where they were asked for, and only while nobody looks at the page.

const KEY = "maestro-notify";

/** Whether the person asked for them. */
export const notifies = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(KEY) === "yes";

/** Turns them on or off; the browser asks the person. @param {boolean} on */
export async function setNotifies(on) {
  if (on && Notification.permission !== "granted") await Notification.requestPermission();
  localStorage.setItem(KEY, on ? "yes" : "no");
}

/** How many things waited when this page last looked. */
let before = Number(document.title.match(/^\((\d+)\)/)?.[1] ?? 0);

/** Says that something waits, if more does than before. @param {number} waiting */
export function noteWaiting(waiting) {
  const more = waiting > before;
  before = waiting;
  if (!more || !notifies() || document.visibilityState === "visible") return;
  const card = document.querySelector("#waits .card:last-child .about .title, #waits .card:last-child .about");
  const notice = new Notification(waiting === 1 ? "Something waits for you" : `${waiting} things wait for you`, { body: card?.textContent?.trim() ?? "", tag: "maestro-waiting" });
  notice.addEventListener("click", () => {
    focus();
    location.href = "/#waits-head";
    notice.close();
  });
}
