// Asks now and then whether a list that is not followed has grown; shows the link that loads it again.

import { gettext } from "../texts.js";

const EVERY_MS = 10_000;

export function attachNewer(link) {
  const look = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(link.dataset.newer, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const { newer, is_all: isAll } = await answer.json();
      link.hidden = !newer;
      link.textContent = isAll ? gettext("{count} new: show", { count: newer }) : gettext("{count} and more new: show", { count: newer });
    } catch {
      // Away for a moment; the live badge says so.
    }
  };
  const timer = setInterval(() => (link.isConnected ? look() : clearInterval(timer)), EVERY_MS);
}
