// Narrows a table as one types, says how many rows are hidden; filter forms send themselves on change.

import { gettext } from "../texts.js";

export function attachFilter(field) {
  const body = document.getElementById(field.dataset.filter);
  if (!body) return;
  const note = document.querySelector(`[data-filter-note="${CSS.escape(field.dataset.filter)}"]`);
  const run = () => {
    const hidden = narrow([...body.children], field.value);
    if (note) note.textContent = hidden ? gettext("{count} hidden by the filter", { count: hidden }) : "";
  };
  field.addEventListener("input", run);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    run();
  });
  let isDue = false;
  body.addEventListener("live:swapped", () => {
    if (isDue) return;
    isDue = true;
    // Once per batch of rows, before it is painted.
    queueMicrotask(() => {
      isDue = false;
      run();
    });
  });
  run();
}

// Every word must occur; returns how many rows are hidden.
export function narrow(rows, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let hidden = 0;
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
    hidden += row.hidden ? 1 : 0;
  }
  return hidden;
}

export function attachFilterForm(form) {
  form.addEventListener("change", () => form.requestSubmit());
}
