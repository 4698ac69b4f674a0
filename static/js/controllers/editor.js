// The job editor of the submit page: mounts the bundle over a textarea that works without it.
// [data-editor] holds the textarea; its form, problems and examples are found by data attributes.

import { createEditor } from "../../vendor/codemirror/editor.js";
import { gettext } from "../texts.js";

const PAUSE_MS = 150;

export function attachEditors() {
  for (const holder of document.querySelectorAll("[data-editor]")) attachEditor(holder);
}

function attachEditor(holder) {
  const area = holder.querySelector("textarea");
  const mount = document.createElement("div");
  mount.className = "editor-mount";
  area.after(mount);
  area.hidden = true;
  let timer;
  const reviewed = area.value;
  const editor = createEditor({
    parent: mount,
    text: area.value,
    language: languageOf(area.value, holder.dataset.language),
    label: area.getAttribute("aria-label") ?? gettext("Job file"),
    nonce: holder.dataset.nonce,
    onChange(text) {
      area.value = text;
      holder.dataset.unsaved = "";
      markReview(text !== reviewed);
      clearTimeout(timer);
      timer = setTimeout(() => check(holder, editor, area), PAUSE_MS);
    },
  });
  // The box around the text scrolls; who has no mouse reaches it by the text, which must say so.
  mount.querySelector(".cm-content").tabIndex = 0;
  attachButtons(holder, editor, area);
  area.form?.addEventListener("submit", () => delete holder.dataset.unsaved);
  addEventListener("beforeunload", (event) => "unsaved" in holder.dataset && event.preventDefault());
  showProblems(holder, editor, stored(holder));
  return editor;
}

// A plan of an older text cannot be run.
function markReview(isOld) {
  for (const part of document.querySelectorAll("[data-review]")) part.toggleAttribute("data-stale", isOld);
  for (const button of document.querySelectorAll("[data-review-run]")) {
    button.disabled = isOld;
    button.textContent = isOld ? gettext("Plan the new text first") : gettext("Run what you reviewed");
  }
}

// HCL unless it begins like JSON.
export function languageOf(text, asked) {
  if (asked === "json" || asked === "hcl") return asked;
  return text.trimStart().startsWith("{") ? "json" : "hcl";
}

// Problems the server found while it rendered the page.
function stored(holder) {
  const source = document.getElementById(holder.dataset.problems ?? "");
  return source ? JSON.parse(source.textContent) : [];
}

function attachButtons(holder, editor, area) {
  document.addEventListener("click", (event) => {
    const line = event.target.closest?.("[data-line]");
    if (line) {
      event.preventDefault();
      editor.goTo(Number(line.dataset.line), Number(line.dataset.column || 1));
    }
    const example = event.target.closest?.("[data-example]");
    if (example) useExample(holder, editor, area, example);
  });
}

function useExample(holder, editor, area, button) {
  const text = document.getElementById(button.dataset.example)?.textContent ?? "";
  // Stored as JSON so that the text needs no escaping rules of its own.
  const next = JSON.parse(text);
  if ("unsaved" in holder.dataset && !confirm(gettext("Replace the text in the editor by the example?"))) return;
  editor.setText(next);
  editor.setLanguage(languageOf(next));
  area.value = next;
}

// Asks the server for every problem of the text; an answer to an older text is dropped.
async function check(holder, editor, area) {
  const url = holder.dataset.check;
  if (!url) return;
  const asked = area.value;
  const body = new FormData(area.form);
  try {
    const answer = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
    if (!answer.ok || asked !== area.value) return;
    showProblems(holder, editor, (await answer.json()).problems);
    editor.setLanguage(languageOf(asked));
  } catch {
    // Offline: the page says so elsewhere; the text stays.
  }
}

function showProblems(holder, editor, problems) {
  // What concerns no line stands in the list only.
  editor.setProblems(problems.filter((problem) => problem.line));
  const list = document.getElementById(holder.dataset.problemList ?? "");
  const count = document.querySelector("[data-problem-count]");
  if (count) count.textContent = told(problems);
  list?.replaceChildren(...problems.map(item));
}

// `2 problems, 1 warning`
export function told(problems) {
  const warnings = problems.filter((problem) => problem.severity === "warning").length;
  const errors = problems.length - warnings;
  const parts = [errors === 1 ? gettext("1 problem") : errors ? gettext("{count} problems", { count: errors }) : gettext("no problems")];
  if (warnings) parts.push(warnings === 1 ? gettext("1 warning") : gettext("{count} warnings", { count: warnings }));
  return parts.join(", ");
}

function item(problem) {
  const entry = document.createElement("li");
  const state = problem.severity === "warning" ? "blocked" : "failed";
  entry.dataset.state = state;
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", problem.severity === "warning" ? "#i-warning" : "#i-failed");
  icon.append(use);
  const place = document.createElement("span");
  place.append(problem.line ? link(problem) : problem.path || gettext("The job"));
  const words = document.createElement("span");
  words.className = "sub";
  words.textContent = problem.message;
  entry.append(icon, place, words);
  return entry;
}

function link({ line, column }) {
  const anchor = document.createElement("a");
  anchor.href = `#line-${line}`;
  anchor.dataset.line = line;
  anchor.dataset.column = column ?? 1;
  anchor.textContent = column ? gettext("Line {line}, column {column}", { line, column }) : gettext("Line {line}", { line });
  return anchor;
}
