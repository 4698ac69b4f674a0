// The chain graph: keeps the newest evaluation in sight while asked to, until the reader moves by themselves.

export function attachChain(holder) {
  const follow = document.querySelector(`[data-follow="${CSS.escape(holder.dataset.graph)}"]`);
  let known = new Set(keys(holder));
  holder.addEventListener("graph:drawn", () => {
    const fresh = keys(holder).filter((key) => !known.has(key));
    known = new Set(keys(holder));
    if (!follow?.checked || !fresh.length) return;
    const newest = holder.querySelector(`.graph-node[data-key="${CSS.escape(fresh[fresh.length - 1])}"]`);
    newest?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  for (const name of ["wheel", "pointerdown"]) {
    holder.addEventListener(name, () => follow && (follow.checked = false), { passive: true });
  }
}

function keys(holder) {
  return [...holder.querySelectorAll('.graph-node:not([data-state="possible"])')].map((node) => node.dataset.key);
}
