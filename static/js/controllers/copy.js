// Copies what a button names: its data-copy text, or with data-copy-from the text of an element.

import { toast } from "./toast.js";

export function attachCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy], [data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
    const text = source ? source.textContent : button.dataset.copy;
    const isDone = await copied(text);
    if (isDone) toast(button.dataset.copied ?? `Copied ${text.length > 40 ? "the text" : text}`);
    else toast("The browser did not allow copying", "failed");
  });
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

// Plain http off loopback has no clipboard API.
function copiedBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}
