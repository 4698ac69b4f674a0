// The rows of a list in the order that the server says: what it did not send is as it was.

const AROUND = ["list-told", "list-sentence", "list-facets", "list-foot"];
let isReading = false;

export function arrange(list, piece, { parsed, exchange, swapped, announceAbove }) {
  const html = piece.html ?? {};
  const rows = [];
  for (const id of piece.order) {
    const here = document.getElementById(id);
    if (here && html[id]) exchange(here, html[id]);
    const row = document.getElementById(id) ?? (html[id] ? parsed(html[id])[0] : null);
    if (!row) return readAgain(list);
    rows.push(row);
  }
  const kept = new Set(rows);
  for (const child of [...list.children]) if (!kept.has(child)) child.remove();
  let next = list.firstElementChild;
  for (const row of rows) {
    if (row === next) {
      next = next.nextElementSibling;
      continue;
    }
    const isNew = !row.isConnected;
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    list.insertBefore(row, next);
    focused?.focus({ preventScroll: true });
    if (isNew) {
      announceAbove(list);
      swapped(row);
    }
  }
  if (!rows.length && piece.empty) list.replaceChildren(...parsed(piece.empty));
}

// A row is told of that never came here: the page's own address has all of them.
async function readAgain(list) {
  if (isReading) return;
  isReading = true;
  try {
    const answer = await fetch(location.href);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const rows = fresh.getElementById(list.id);
    if (rows) list.replaceChildren(...rows.children);
    for (const id of AROUND) {
      const part = fresh.getElementById(id);
      if (part) document.getElementById(id)?.replaceWith(part);
    }
  } catch {
    // Away for a moment; what comes after it brings the list again.
  } finally {
    isReading = false;
  }
}
