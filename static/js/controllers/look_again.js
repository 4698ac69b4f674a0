// A rehearsal that runs is looked at again and exchanged alone, so that what somebody writes beside it stays.
// Once it has ended, a page that then looks otherwise as a whole is exchanged with what was written.

const LOOK_MS = 2000;
const WHOLE = "main, #content-main";

for (const shown of document.querySelectorAll("[data-look-again]")) lookLater(shown);

function lookLater(shown) {
  setTimeout(() => look(shown), LOOK_MS);
}

async function look(shown) {
  if (!shown.isConnected) return;
  let fresh;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected || !answer.ok) return location.reload();
    fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    // Away for a moment.
    return lookLater(shown);
  }
  const found = fresh.getElementById(shown.id);
  const isWhole = shown.dataset.lookAgain === "whole" && !found?.matches("[data-look-again]");
  if (found && !isWhole) return exchange(shown, found);
  const [old, whole] = [document.querySelector(WHOLE), fresh.querySelector(WHOLE)];
  if (!old || !whole) return location.reload();
  keepWritten(old, whole);
  exchange(old, whole);
}

function exchange(old, found) {
  const element = document.adoptNode(found);
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(element);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  element.dispatchEvent(new CustomEvent("live:swapped", { bubbles: true }));
  if (element.matches("[data-look-again]")) lookLater(element);
}

function keepWritten(old, fresh) {
  for (const field of old.querySelectorAll("input[id]:not([type=hidden]), select[id], textarea[id]")) {
    const other = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (!other) continue;
    if (field.type === "checkbox") other.checked = field.checked;
    else other.value = field.value;
  }
}
