// The command palette: every page of the navigation, every button of this page, jobs and nodes, by words.

import { hitsOf } from "./search.js";
import { gettext } from "../texts.js";

let entries = [];
let chosen = 0;

export function openPalette() {
  const dialog = document.querySelector("[data-palette]");
  if (!dialog || dialog.open) return;
  const field = dialog.querySelector("input");
  if (!dialog.dataset.ready) prepare(dialog, field);
  field.value = "";
  show(dialog, "");
  dialog.showModal();
  field.focus();
}

function prepare(dialog, field) {
  dialog.dataset.ready = "yes";
  field.addEventListener("input", () => show(dialog, field.value));
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      choose(dialog, chosen + step);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(dialog, entries[chosen]);
    }
  });
  dialog.querySelector("[role=listbox]").addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) run(dialog, entries[Number(option.dataset.place)]);
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

// Pages from the navigation, then what this page offers; destructive buttons only open their dialogs.
function known() {
  const pages = [...document.querySelectorAll("[data-nav] a")].map((link) => ({
    word: gettext("Go to {page}", { page: link.title }),
    key: link.dataset.go ? `g ${link.dataset.go}` : "",
    run: () => link.click(),
  }));
  const actions = [...document.querySelectorAll("main button:not([disabled], [aria-disabled='true']), main .actions a")]
    .filter((element) => wordOf(element) && !element.closest("dialog") && element.checkVisibility())
    .map((element) => ({ word: wordOf(element), key: keyOf(element), run: () => element.click() }));
  const theme = document.querySelector('[data-controller="theme"]');
  const rest = theme ? [{ word: gettext("Change theme"), key: "", run: () => theme.click() }] : [];
  return [...pages, ...actions, ...rest];
}

function keyOf(element) {
  return element.querySelector("kbd")?.textContent ?? "";
}

function wordOf(element) {
  return element.textContent.replace(keyOf(element), "").replace(/\s+/g, " ").trim();
}

function show(dialog, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  entries = known().filter((entry) => words.every((word) => entry.word.toLowerCase().includes(word)));
  if (text.trim()) {
    const address = `/search/?${new URLSearchParams({ q: text.trim() })}`;
    entries.push({ word: gettext("Search for {text}", { text: text.trim() }), key: "/", run: () => location.assign(address) });
  }
  list(dialog);
  choose(dialog, 0);
  find(dialog, text);
}

function list(dialog) {
  dialog.querySelector("[role=listbox]").replaceChildren(...entries.map(option));
}

// Jobs, nodes and whatever else the server finds stand before the search for all of them.
async function find(dialog, text) {
  const hits = await hitsOf(text);
  if (!hits?.length || !dialog.open) return;
  const found = hits.map((hit) => ({
    word: hit.title,
    key: "",
    note: `${hit.note}, ${hit.state}`,
    run: () => location.assign(hit.url),
  }));
  entries.splice(entries.length - 1, 0, ...found);
  list(dialog);
  choose(dialog, chosen);
}

function option(entry, place) {
  const item = document.createElement("li");
  item.id = `palette-${place}`;
  item.setAttribute("role", "option");
  item.dataset.place = String(place);
  item.append(entry.word);
  if (entry.note) {
    const note = document.createElement("span");
    note.className = "quiet";
    note.textContent = entry.note;
    item.append(note);
  }
  if (entry.key) {
    const key = document.createElement("kbd");
    key.textContent = entry.key;
    item.append(key);
  }
  return item;
}

function choose(dialog, place) {
  chosen = Math.min(Math.max(place, 0), entries.length - 1);
  for (const item of dialog.querySelectorAll("[role=option]")) {
    const isChosen = Number(item.dataset.place) === chosen;
    item.setAttribute("aria-selected", String(isChosen));
    if (isChosen) item.scrollIntoView({ block: "nearest" });
  }
  dialog.querySelector("input").setAttribute("aria-activedescendant", `palette-${chosen}`);
}

function run(dialog, entry) {
  dialog.close();
  entry?.run();
}
