// Single keys: search, go to a page, next row, help. Off on request, silent while one types, never destructive.

import { openPalette } from "./palette.js";
import { gettext } from "../texts.js";

const OFF = "keys-off";
const GO_WAIT_MS = 1500;
const HELP = [
  ["/", "search"],
  ["Ctrl K", gettext("go to a page or do something")],
  [gettext("g then a letter"), gettext("go to a page: the letters show while waiting")],
  ["j k", gettext("next and previous row")],
  ["o", gettext("open the row")],
  ["t", gettext("graph, timeline or table")],
  ["Space", gettext("pause the page")],
  ["[ ]", gettext("one step back and on in time")],
  ["y", "copy"],
  ["?", gettext("this list")],
];
let goUntil = 0;

export function attachKeyboard(live) {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return openPalette();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isOff()) return;
    if (document.querySelector("dialog[open]")) return;
    if (performance.now() < goUntil) return go(event);
    const work = KEYS[event.key];
    if (work?.(event, live)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const action = event.target.closest?.("[data-action]")?.dataset.action;
    if (action === "palette") openPalette();
    if (action === "keys") showHelp();
  });
}

const KEYS = {
  "/": () => focus('.search input[type="search"]'),
  "?": () => showHelp(),
  g: () => startGo(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  o: () => click("tr:focus-within a, tr[data-focused] a"),
  t: () => nextView(),
  y: () => click("main [data-copy][data-copied]"),
  "[": () => click('[data-replay-step="back"], [data-older]'),
  "]": () => click('[data-replay-step="on"], [data-newest]'),
  " ": (event, live) => event.target === document.body && live && (live.toggle(), true),
};

function isTyping(element) {
  return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
}

function isOff() {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch {
    return false;
  }
}

function focus(selector) {
  const element = document.querySelector(selector);
  element?.focus();
  return Boolean(element);
}

function click(selector) {
  const element = document.querySelector(selector);
  element?.click();
  return Boolean(element);
}

function startGo() {
  goUntil = performance.now() + GO_WAIT_MS;
  document.documentElement.dataset.go = "";
  setTimeout(() => delete document.documentElement.dataset.go, GO_WAIT_MS);
  return true;
}

function go(event) {
  goUntil = 0;
  delete document.documentElement.dataset.go;
  const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
  if (link) {
    event.preventDefault();
    link.click();
  }
}

function moveRow(step) {
  const rows = [...document.querySelectorAll("main tbody tr:not([hidden])")].filter((row) => row.querySelector("a"));
  if (!rows.length) return false;
  const now = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(Math.max(now + step, 0), rows.length - 1)];
  next.querySelector("a").focus();
  return true;
}

function nextView() {
  const links = [...document.querySelectorAll(".segments[data-views] a")];
  const now = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[(now + 1) % links.length]?.click();
  return links.length > 0;
}

function showHelp() {
  const dialog = document.querySelector("[data-keys]");
  const list = dialog?.querySelector("[data-keys-list]");
  if (!list) return false;
  const items = HELP.flatMap(([keys, text]) => {
    const term = document.createElement("dt");
    const key = document.createElement("kbd");
    key.textContent = keys;
    term.append(key);
    const told = document.createElement("dd");
    told.textContent = text;
    return [term, told];
  });
  list.replaceChildren(...items);
  const off = dialog.querySelector("[data-keys-off]");
  off.checked = isOff();
  off.onchange = () => localStorage.setItem(OFF, off.checked ? "yes" : "no");
  dialog.showModal();
  return true;
}
