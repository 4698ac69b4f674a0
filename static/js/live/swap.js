// Pieces of a frame -> the DOM. The only file that replaces elements; keeps focus and scroll where they were.

import { drawGraph, flashEdges, patchGraph } from "../graphs/svg.js";
import { arrange } from "./rows.js";
import { gettext } from "../texts.js";

const ROW_LIMIT = 200;
const FOCUSABLE = "a, button, input, select, summary, textarea, [tabindex]";
const newest = new WeakMap();
// Asking an element whether it is scrolled costs a layout of the page; those that were say so themselves.
const scrolled = new WeakSet();
// Tables that new rows went into in this batch, and whether their top is out of sight.
const isAbove = new Map();
let spokenAt = -Infinity;

document.addEventListener("scroll", (event) => scrolled.add(event.target), { capture: true, passive: true });

// Throws the first fault when all that can be shown is shown.
export function applyPieces(pieces) {
  isAbove.clear();
  const faults = [];
  for (const piece of withoutSuperseded(pieces)) {
    try {
      APPLY[piece.kind]?.(piece);
    } catch (fault) {
      faults.push(fault);
    }
  }
  if (faults.length) throw faults[0];
}

// Of the pieces that replace the same thing only the last one is ever seen.
export function withoutSuperseded(pieces) {
  const last = new Map();
  for (const piece of pieces) last.set(replaced(piece), piece);
  return pieces.filter((piece) => replaced(piece) === null || last.get(replaced(piece)) === piece);
}

function replaced(piece) {
  if (piece.kind === "graph") return `graph ${piece.graph.key}`;
  const isWhole = piece.kind === "html" && (piece.mode ?? "replace") === "replace";
  return isWhole ? `html ${piece.target}` : null;
}

const APPLY = {
  html(piece) {
    HTML[piece.mode ?? "replace"]?.(piece);
  },
  rows(piece) {
    const list = document.getElementById(piece.target);
    if (list) arrange(list, piece, { parsed, exchange, swapped, announceAbove });
  },
  graph(piece) {
    for (const holder of document.querySelectorAll(`[data-graph="${CSS.escape(piece.graph.key)}"]`)) {
      drawGraph(holder, piece.graph);
      holder.dispatchEvent(new CustomEvent("graph:drawn", { bubbles: true, detail: piece.graph }));
    }
  },
  patch(piece) {
    for (const holder of document.querySelectorAll(`[data-graph="${CSS.escape(piece.patch.key)}"]`)) {
      patchGraph(holder, piece.patch);
      holder.dispatchEvent(new CustomEvent("graph:drawn", { bubbles: true, detail: piece.patch }));
    }
  },
  facts(piece) {
    for (const [name, value] of Object.entries(piece.values)) {
      for (const element of document.querySelectorAll(`[data-fact="${CSS.escape(name)}"]`)) {
        if (element.textContent !== value) element.textContent = value;
      }
    }
    if (piece.say) say(piece.say);
  },
  moved(piece) {
    for (const holder of document.querySelectorAll(`[data-graph="${CSS.escape(piece.key)}"]`)) {
      flashEdges(holder, Object.keys(piece.edges));
    }
  },
};

const HTML = {
  replace(piece) {
    const element = document.getElementById(piece.target);
    if (element) exchange(element, piece.html);
  },
  upsert(piece) {
    const element = document.getElementById(piece.target);
    if (element) return exchange(element, piece.html);
    const container = document.getElementById(piece.container);
    if (container) enter(container, piece.html);
  },
  remove(piece) {
    document.getElementById(piece.target)?.remove();
  },
  append(piece) {
    const element = document.getElementById(piece.target);
    for (const child of parsed(piece.html)) {
      element?.append(child);
      swapped(child);
    }
  },
};

function enter(container, html) {
  const [row] = parsed(html);
  if (!row) return;
  container.prepend(row);
  container.querySelector("[data-empty-row]")?.remove();
  announceAbove(container);
  while (container.children.length > Number(container.dataset.limit ?? ROW_LIMIT)) container.lastElementChild.remove();
  swapped(row);
}

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  // In a template scripts do not run, so what stands for them comes as elements; Enter would press its buttons.
  for (const instead of template.content.querySelectorAll("noscript")) instead.remove();
  return [...template.content.children];
}

function exchange(element, html) {
  if (newest.get(element) === html) return;
  const [fresh] = parsed(html);
  if (!fresh) return;
  const place = focusPlace(element);
  const scroll = scrolled.has(element) ? [element.scrollLeft, element.scrollTop] : null;
  keepOpen(element, fresh);
  element.replaceWith(fresh);
  if (scroll) [fresh.scrollLeft, fresh.scrollTop] = scroll;
  newest.set(fresh, html);
  if (place) restoreFocus(fresh, place);
  swapped(fresh);
}

// What a person has opened stays open, what was closed stays closed.
function keepOpen(old, fresh) {
  for (const details of old.querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`#${CSS.escape(details.id)}`);
    if (same) same.open = details.open;
  }
  for (const field of old.querySelectorAll("[data-kept][id]")) {
    const same = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (same && same.name === field.name) keepTyped(field, same);
  }
}

// What nobody has touched follows the record.
function keepTyped(field, same) {
  if (field.type === "file") same.replaceWith(field);
  else if ("checked" in field && /^(radio|checkbox)$/.test(field.type)) same.checked = field.checked;
  else if (field.value !== field.defaultValue) same.value = field.value;
}

function focusPlace(element) {
  const focused = document.activeElement;
  if (!focused || !element.contains(focused)) return null;
  const all = [element, ...element.querySelectorAll(FOCUSABLE)];
  return {
    id: focused.id,
    fold: focused.matches("summary") ? focused.parentElement.id : "",
    key: focused.closest("[data-key]")?.dataset.key,
    position: all.indexOf(focused),
  };
}

function restoreFocus(fresh, place) {
  const all = [fresh, ...fresh.querySelectorAll(FOCUSABLE)];
  const byId = place.id && document.getElementById(place.id);
  const byFold = place.fold && fresh.querySelector(`#${CSS.escape(place.fold)} > summary`);
  const byKey = place.key && fresh.querySelector(`[data-key="${CSS.escape(place.key)}"]`);
  (byId || byFold || byKey || all[place.position])?.focus({ preventScroll: true });
}

// New rows above the reader are told by a pill, so that the text under the eye does not jump.
function announceAbove(container) {
  const table = container.closest("table") ?? container;
  if (!isAbove.has(table)) isAbove.set(table, table.getBoundingClientRect().top < 0);
  if (!isAbove.get(table)) return;
  const holder = table.parentElement;
  let pill = holder.querySelector(":scope > .pill");
  if (!pill) {
    pill = document.createElement("button");
    pill.type = "button";
    pill.className = "button pill";
    pill.addEventListener("click", () => {
      table.scrollIntoView({ block: "start" });
      pill.remove();
    });
    holder.prepend(pill);
  }
  pill.dataset.count = String(Number(pill.dataset.count ?? 0) + 1);
  pill.textContent = gettext("{count} new", { count: pill.dataset.count });
}

function swapped(element) {
  element.dispatchEvent(new CustomEvent("live:swapped", { bubbles: true }));
}

// At most one sentence a second reaches screen readers.
export function say(sentence) {
  const line = document.querySelector("[data-status-line]");
  const now = performance.now();
  if (!line || now - spokenAt < 1000) return;
  spokenAt = now;
  line.textContent = sentence;
}
