// Notifications of the browser, by own choice: asked for by a click on the account's page and never else.
// Of all open pages one asks the server; what was told is kept in this browser, so that nothing is told twice.

import { gettext } from "../texts.js";

const EVERY_MS = 15_000;
const MOST_AT_ONCE = 3;
// What comes back within this time is the same trouble still: a job that crashes starts in between.
const OVER_MS = 600_000;
const ON = "bivouac:notices";
const TOLD = "bivouac:notices:told";

const isOn = () => "Notification" in window && localStorage.getItem(ON) === "on" && Notification.permission === "granted";

export function watchNotices() {
  // The page that holds the lock asks; it goes to another one when that page is left.
  if (isOn() && navigator.locks) navigator.locks.request(ON, askOnAndOn);
}

async function askOnAndOn() {
  while (isOn()) {
    const wants = await tell(false);
    if (wants === false) return;
    await new Promise((done) => setTimeout(done, EVERY_MS));
  }
}

// Null while nobody knows: signed out, or the server is away.
async function asked() {
  try {
    const answer = await fetch("/notices", { headers: { Accept: "application/json" } });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

// What is new is shown, and what holds is kept; `isFirst` keeps it without showing it.
async function tell(isFirst) {
  const answer = await asked();
  if (!answer) return null;
  // By key, when it was first found over; 0: it holds.
  const told = new Map(Object.entries(JSON.parse(localStorage.getItem(TOLD) ?? "{}")));
  const held = new Set(answer.notices.map((notice) => notice.key));
  for (const [key, over] of told) {
    if (over && Date.now() - over >= OVER_MS) told.delete(key);
    else if (!held.has(key)) told.set(key, over || Date.now());
  }
  const fresh = isFirst ? [] : answer.notices.filter((notice) => !told.has(notice.key));
  for (const key of held) told.set(key, 0);
  localStorage.setItem(TOLD, JSON.stringify(Object.fromEntries(told)));
  for (const notice of fresh.slice(0, MOST_AT_ONCE)) show(notice.title, notice.text, notice.key, notice.path);
  const more = fresh.length - MOST_AT_ONCE;
  if (more > 0) show(gettext("{count} more may need a person", { count: more }), gettext("All of them stand on Now."), "more", "/");
  return answer.wants;
}

function show(title, body, tag, path) {
  const notification = new Notification(title, { body, tag });
  notification.addEventListener("click", () => {
    window.focus();
    location.assign(path);
  });
}

export function attachNotices(panel) {
  const on = panel.querySelector("[data-notices-on]");
  const off = panel.querySelector("[data-notices-off]");
  const status = panel.querySelector("[data-notices-status]");
  const draw = () => {
    const can = "Notification" in window && navigator.locks;
    const isDenied = can && Notification.permission === "denied";
    on.hidden = !can || isDenied || isOn();
    off.hidden = !isOn();
    if (!can) status.textContent = gettext("this browser shows none here");
    else if (isDenied) status.textContent = gettext("this browser was told to show none; its own settings for this site change that");
    else status.textContent = isOn() ? gettext("on in this browser, while a page of Bivouac is open") : gettext("off in this browser");
  };
  on.addEventListener("click", async () => {
    if ((await Notification.requestPermission()) === "granted") {
      localStorage.setItem(ON, "on");
      await tell(true);
      show(gettext("Bivouac tells you here"), gettext("What holds already is not told; what is new will be."), "on", "/");
      watchNotices();
    }
    draw();
  });
  off.addEventListener("click", () => {
    localStorage.removeItem(ON);
    localStorage.removeItem(TOLD);
    draw();
  });
  draw();
}
