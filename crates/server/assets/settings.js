// Settings: notifications of this browser, only when they are asked for.

import { notifies, setNotifies } from "./notices.js";

const state = document.getElementById("notify-state");
const button = document.getElementById("notify-switch");

function show() {
  if (!state || !button) return;
  const refused = !("Notification" in window) || Notification.permission === "denied";
  const on = notifies();
  state.className = `state ${on ? "good" : "rest"}`;
  state.textContent = refused ? "○ refused by the browser" : on ? "✓ on" : "○ off";
  button.textContent = on ? "Turn off" : "Turn on";
  button.hidden = refused;
}

button?.addEventListener("click", async () => {
  await setNotifies(!notifies());
  show();
});
show();
