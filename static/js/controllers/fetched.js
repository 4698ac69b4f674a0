// A panel that is read from elsewhere once somebody looks at it, and again by the links within it.

import { applyPieces } from "../live/swap.js";

export function attachFetched(panel) {
  const load = async (address) => {
    panel.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${address}${address.includes("?") ? "&" : "?"}part=1`, { headers: { Accept: "text/html" } });
      const html = answer.redirected ? "" : await answer.text();
      // What is no panel, as a login, is shown as the page that it is.
      if (!html.includes("data-fetched-whole")) location.assign(address);
      else if (panel.isConnected) applyPieces([{ kind: "html", target: panel.id, html }]);
    } catch {
      // Away for a moment; the live badge says so, and the link can be pressed again.
      panel.removeAttribute("aria-busy");
    }
  };
  panel.addEventListener("click", (event) => {
    const choice = event.target.closest("a[data-fetched-choice]");
    if (!choice || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    load(choice.getAttribute("href"));
  });
  if ("fetchedWhole" in panel.dataset) return;
  const sight = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    sight.disconnect();
    load(panel.dataset.fetched);
  }, { rootMargin: "200px" });
  sight.observe(panel);
}
