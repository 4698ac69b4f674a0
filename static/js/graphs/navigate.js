// Moving in a graph without a mouse: one tab stop, arrows run along edges, buttons zoom, dragging is an extra.

const STEPS = [1, 1.25, 1.5, 2, 3];

export function attachGraph(holder) {
  const first = holder.querySelector(".graph-node");
  if (first) makeTabStop(holder, first);
  holder.addEventListener("keydown", (event) => onKey(holder, event));
  holder.addEventListener("focusin", (event) => {
    const node = event.target.closest?.(".graph-node");
    if (node) makeTabStop(holder, node);
  });
  const tools = document.querySelector(`[data-graph-tools="${CSS.escape(holder.dataset.graph)}"]`);
  for (const near of ["pointerenter", "focusin"]) tools?.addEventListener(near, () => pictures().catch(() => {}));
  tools?.addEventListener("click", async (event) => {
    const how = event.target.closest?.("[data-zoom]")?.dataset.zoom;
    if (how) zoom(holder, how);
    const kind = event.target.closest?.("[data-picture]")?.dataset.picture;
    if (kind) (drawer ?? (await pictures())).copyPicture(holder, kind);
  });
}

// Here before the click: some browsers refuse the clipboard to what comes after a wait.
let drawer = null;

async function pictures() {
  return (drawer ??= await import("./picture.js"));
}

function onKey(holder, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "+" || event.key === "-") return zoom(holder, event.key === "+" ? "in" : "out");
  const node = document.activeElement?.closest?.(".graph-node");
  const next = event.key === "Home" || event.key === "End" ? edgeOfGraph(holder, event.key) : node && neighbour(holder, node, event.key);
  if (!next) return;
  event.preventDefault();
  makeTabStop(holder, next);
  next.focus();
  next.scrollIntoView({ block: "nearest", inline: "nearest" });
}

// Left to its cause, right to its first effect, up and down among those of one generation.
export function neighbour(holder, node, key) {
  const nodes = new Map([...holder.querySelectorAll(".graph-node")].map((item) => [item.dataset.key, item]));
  const edges = [...holder.querySelectorAll(".graph-edge")];
  const own = node.dataset.key;
  if (key === "ArrowRight") return firstOf(edges, (edge) => edge.dataset.source === own, (edge) => nodes.get(edge.dataset.target));
  if (key === "ArrowLeft") return firstOf(edges, (edge) => edge.dataset.target === own, (edge) => nodes.get(edge.dataset.source));
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  const here = place(node);
  const down = key === "ArrowDown";
  const candidates = [...nodes.values()]
    .map((item) => ({ item, at: place(item) }))
    .filter(({ item, at }) => item !== node && (down ? at.y > here.y + 1 : at.y < here.y - 1));
  candidates.sort((a, b) => distance(a.at, here) - distance(b.at, here));
  return candidates[0]?.item ?? null;
}

function firstOf(edges, matches, nodeOf) {
  const found = edges.filter(matches);
  const taken = found.find((edge) => edge.dataset.path === "taken") ?? found[0];
  return taken ? nodeOf(taken) ?? null : null;
}

function edgeOfGraph(holder, key) {
  const nodes = [...holder.querySelectorAll(".graph-node")];
  nodes.sort((a, b) => place(a).x - place(b).x || place(a).y - place(b).y);
  return key === "Home" ? nodes[0] : nodes[nodes.length - 1];
}

function place(node) {
  const shape = node.querySelector(".shape");
  const number = (name) => Number(shape.getAttribute(name) ?? 0);
  if (shape.tagName === "circle") return { x: number("cx"), y: number("cy") };
  return { x: number("x") + number("width") / 2, y: number("y") + number("height") / 2 };
}

// Columns count for more than rows: up and down should not change the generation without need.
function distance(a, b) {
  return Math.abs(a.x - b.x) * 3 + Math.abs(a.y - b.y);
}

function makeTabStop(holder, node) {
  for (const other of holder.querySelectorAll('.graph-node[tabindex="0"]')) other.setAttribute("tabindex", "-1");
  node.setAttribute("tabindex", "0");
}

export function zoom(holder, how) {
  const svg = holder.querySelector("svg.graph");
  const now = Number(holder.dataset.zoom ?? 1);
  const larger = STEPS.find((step) => step > now) ?? now;
  const smaller = STEPS.filter((step) => step < now).pop() ?? 1;
  const next = how === "in" ? larger : how === "out" ? smaller : 1;
  holder.dataset.zoom = String(next);
  svg.style.inlineSize = next === 1 ? "" : `${next * 100}%`;
}
