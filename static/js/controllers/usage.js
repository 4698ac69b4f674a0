// What is used and what checks found, as the agents tell it: fetched as a panel of markup, again each ten seconds while somebody looks.

import { applyPieces } from "../live/swap.js";

const EVERY_MS = 10_000;

export function attachUsage(panel) {
  const isDrawn = "usageSpan" in panel.dataset;
  fill(panel);
  let timer;
  const later = (wait) => {
    timer = setTimeout(() => (document.hidden ? later(1000) : load(shown(panel))), wait);
  };
  const load = async (address) => {
    clearTimeout(timer);
    try {
      const answer = await fetch(`${address}${address.includes("?") ? "&" : "?"}part=1`, { headers: { Accept: "text/html" } });
      const html = answer.ok && !answer.redirected ? await answer.text() : "";
      if (!panel.isConnected) return;
      // A panel that is exchanged is attached anew and goes on from there.
      if (html.includes("data-usage-span")) return exchange(panel, html);
    } catch {
      // Away for a moment; the live badge says so, and what was drawn says until when.
    }
    later(EVERY_MS);
  };
  panel.addEventListener("click", (event) => {
    const choice = event.target.closest("a[data-usage-choice]");
    if (!choice || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    load(choice.getAttribute("href"));
  });
  if (isDrawn) later(EVERY_MS);
  else if (!("usageWaits" in panel.dataset)) load(panel.dataset.usage);
}

// What tasks use stands in their table as well, which live frames exchange without it.
function fill(panel) {
  const told = panel.querySelectorAll("[data-used]");
  if (!told.length) return;
  const write = () => {
    if (!panel.isConnected) return document.removeEventListener("live:swapped", write);
    for (const each of told) {
      const place = document.querySelector(`[data-used-by="${CSS.escape(each.dataset.used)}"]`);
      if (place) place.textContent = `${each.textContent} `;
    }
  };
  document.addEventListener("live:swapped", write);
  write();
}

// The address of what is shown: the choices that are current.
function shown(panel) {
  const current = panel.querySelectorAll("a[data-usage-choice][aria-current]");
  return current.length ? current[current.length - 1].getAttribute("href") : panel.dataset.usage;
}

// The table stays open, and the choice that was pressed keeps the focus.
function exchange(panel, html) {
  const isOpen = panel.querySelector("details")?.open;
  const href = panel.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  applyPieces([{ kind: "html", target: panel.id, html }]);
  const fresh = document.getElementById(panel.id);
  if (isOpen && fresh.querySelector("details")) fresh.querySelector("details").open = true;
  if (href && !fresh.contains(document.activeElement)) {
    [...fresh.querySelectorAll("a")].find((link) => link.getAttribute("href") === href)?.focus();
  }
}
