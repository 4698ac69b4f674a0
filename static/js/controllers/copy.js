// Copies what a button names: its data-copy text, or with data-copy-from the text of an element.
// Of a graph that live frames have drawn anew, the text stands on the page as it is served now.

import { toast } from "./toast.js";
import { gettext } from "../texts.js";

const redrawn = new Set();

export function attachCopy() {
  document.addEventListener("graph:drawn", (event) => redrawn.add(event.target.dataset.graph));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy], [data-copy-from]");
    if (!button) return;
    const graph = button.closest("[data-graph-tools]")?.dataset.graphTools;
    try {
      const text = redrawn.has(graph) ? await copiedFresh(graph) : await copied(textOf(button));
      toast(button.dataset.copied ?? (text.length > 40 ? gettext("Copied the text") : gettext("Copied {text}", { text })));
    } catch (error) {
      toast(error instanceof Stale ? error.message : gettext("The browser did not allow copying"), "failed");
    }
  });
}

class Stale extends Error {}

function textOf(button) {
  const source = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
  return source ? source.textContent : button.dataset.copy;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  return text;
}

async function copiedFresh(graph) {
  const text = servedText(graph);
  if (!navigator.clipboard) return copied(await text);
  const blob = text.then((plain) => new Blob([plain], { type: "text/plain" }));
  try {
    // A browser gives the clipboard only while the click lasts, so the text is promised, not awaited.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  } catch {
    return copied(await text);
  }
  return text;
}

async function servedText(graph) {
  const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const button = page?.querySelector(`[data-graph-tools="${CSS.escape(graph)}"] [data-copy]`);
  if (!button) throw new Stale(gettext("The server did not give the text: try again"));
  return button.dataset.copy;
}

// Plain http off loopback has no clipboard API.
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (!isDone) throw new Error("refused");
}
