// Geometry -> keyed SVG. One element per key is kept and changed in place, so focus, hover and position stay.
// Draws what the server placed; fetches nothing and knows no cluster rule.

const SVG = "http://www.w3.org/2000/svg";
const FOCUS = 5;
const BEAT_MS = 700;
const drawn = new WeakMap();

export function drawGraph(holder, graph) {
  const svg = holder.querySelector("svg.graph");
  if (!svg) return;
  frame(svg, graph);
  setText(svg, "title", graph.title);
  const taken = new Set(keysOf(svg, '.graph-edge[data-path="taken"]'));
  merge(svg.querySelector(".graph-edges"), graph.edges ?? [], "g", drawEdge);
  merge(svg.querySelector(".graph-nodes"), graph.nodes ?? [], "a", drawNode);
  merge(svg.querySelector(".graph-discs"), graph.discs ?? [], "g", drawDisc);
  const labels = (graph.labels ?? []).map((label, place) => ({ ...label, key: String(place) }));
  merge(svg.querySelector(".graph-labels"), labels, "g", (group, label) => group.append(labelOf(label)));
  keepOneTabStop(svg);
  if (taken.size) flashEdges(holder, keysOf(svg, '.graph-edge[data-path="taken"]').filter((key) => !taken.has(key)));
}

// Only the items that differ from what is drawn: the cost is that of the change, not of the graph.
export function patchGraph(holder, patch) {
  const svg = holder.querySelector("svg.graph");
  if (!svg) return;
  frame(svg, patch);
  for (const key of patch.gone ?? []) find(svg, key)?.remove();
  for (const [name, tag, draw] of [["edges", "g", drawEdge], ["nodes", "a", drawNode], ["discs", "g", drawDisc]]) {
    const parent = svg.querySelector(`.graph-${name}`);
    for (const item of patch[name] ?? []) parent.append(...fresh(find(parent, item.key), tag, item, draw));
  }
  keepOneTabStop(svg);
}

function find(root, key) {
  return root.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

// Redraws an element in place; a new one is returned to be put into the drawing.
function fresh(existing, tag, item, draw) {
  const element = existing ?? document.createElementNS(SVG, tag);
  element.dataset.key = item.key;
  element.replaceChildren();
  draw(element, item);
  drawn.set(element, JSON.stringify(item));
  return existing ? [] : [element];
}

function frame(svg, { view: [x, y, width, height], description }) {
  svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  setText(svg, "desc", description ?? "");
}

// Arrows along which something moved thicken for one beat.
export function flashEdges(holder, keys) {
  for (const key of keys) {
    const edge = holder.querySelector(`.graph-edge[data-key="${CSS.escape(key)}"]`);
    edge?.classList.add("moved");
    setTimeout(() => edge?.classList.remove("moved"), BEAT_MS);
  }
}

function keysOf(svg, selector) {
  return [...svg.querySelectorAll(selector)].map((element) => element.dataset.key);
}

function setText(svg, name, text) {
  const element = svg.querySelector(`:scope > ${name}`);
  if (element && element.textContent !== text) element.textContent = text;
}

// Bring the children of `parent` in line with `items`: same order, one element per key, unchanged ones untouched.
function merge(parent, items, tag, draw) {
  if (!parent) return;
  const existing = new Map();
  for (const child of [...parent.children]) {
    if (child.dataset.key === undefined) child.remove();
    else existing.set(child.dataset.key, child);
  }
  let before = null;
  for (const item of items) {
    let element = existing.get(item.key);
    existing.delete(item.key);
    const signature = JSON.stringify(item);
    const isNew = !element;
    if (isNew) {
      element = document.createElementNS(SVG, tag);
      element.dataset.key = item.key;
    }
    if (drawn.get(element) !== signature) {
      element.replaceChildren();
      draw(element, item);
      drawn.set(element, signature);
    }
    // Moving an element costs it the focus, so it is moved only when its place is wrong.
    const wanted = before ? before.nextElementSibling : parent.firstElementChild;
    if (isNew || element !== wanted) parent.insertBefore(element, wanted);
    before = element;
  }
  for (const leftover of existing.values()) leftover.remove();
}

function drawEdge(group, edge) {
  group.setAttribute("class", "graph-edge");
  const path = edge.path ?? "";
  assign(group.dataset, {
    source: edge.source,
    target: edge.target,
    kind: edge.kind ?? "step",
    path: path || undefined,
  });
  const marker = ["taken", "other", "hot"].includes(path) ? `url(#arrow-${path})` : "url(#arrow)";
  const line = { class: "line", d: edge.line, "marker-end": marker };
  if (edge.is_double) line["marker-start"] = marker;
  group.append(make("path", line), ...(edge.labels ?? []).map(labelOf));
}

function labelOf(label) {
  const anchor = label.anchor ?? "middle";
  const text = make("text", {
    class: anchor === "middle" ? "graph-label" : `graph-label graph-label-${anchor}`,
    x: label.x,
    y: label.y,
  });
  text.textContent = label.text ? (label.flow ? `${label.text} ` : label.text) : "";
  if (label.flow) {
    const flow = make("tspan", { class: "flow" });
    flow.textContent = label.flow;
    text.append(flow);
  }
  return text;
}

function drawNode(anchor, node) {
  anchor.setAttribute("class", "graph-node");
  anchor.setAttribute("aria-label", node.name);
  if (node.href) {
    anchor.setAttribute("href", node.href);
    anchor.removeAttribute("role");
  } else {
    anchor.setAttribute("role", "img");
  }
  if (!anchor.hasAttribute("tabindex")) anchor.setAttribute("tabindex", "-1");
  anchor.toggleAttribute("data-quasi", Boolean(node.is_quasi));
  anchor.toggleAttribute("data-tombstone", Boolean(node.is_tombstone));
  anchor.dataset.state = node.state;
  if (node.is_selected) anchor.setAttribute("aria-current", "true");
  else anchor.removeAttribute("aria-current");
  anchor.append(...(node.shape === "circle" ? circleOf(node) : stadiumOf(node)));
  for (const [role, x, y, text] of node.lines ?? []) {
    const line = make("text", { class: `graph-${role}`, x, y });
    line.textContent = text;
    anchor.append(line);
  }
}

function circleOf(node) {
  const at = { cx: node.x, cy: node.y };
  const radius = node.height / 2;
  return [
    make("circle", { class: "focus", ...at, r: radius + FOCUS }),
    make("circle", { class: "shape", ...at, r: radius }),
  ];
}

function stadiumOf(node) {
  const box = (name, shift = 0, grow = 0) =>
    make("rect", {
      class: name,
      x: node.x + shift - grow,
      y: node.y - shift - grow,
      width: node.width + 2 * grow,
      height: node.height + 2 * grow,
      rx: node.height / 2 + grow,
    });
  const parts = [box("focus", 0, FOCUS)];
  if (node.is_folded) parts.push(box("behind", 6), box("behind", 3));
  if (node.is_current) parts.push(box("graph-pulse"));
  parts.push(box("shape"));
  if (node.icon) {
    const place = { x: node.x + 12, y: node.y + node.height / 2 - 8, width: 16, height: 16 };
    parts.push(make("use", { class: "graph-icon", href: `#i-${node.icon}`, ...place }));
  }
  return parts;
}

function drawDisc(group, disc) {
  group.setAttribute("class", "graph-step");
  const text = make("text", { x: disc.x, y: disc.y + 3.5 });
  text.textContent = disc.text;
  group.append(make("circle", { cx: disc.x, cy: disc.y, r: 9 }), text);
}

function keepOneTabStop(svg) {
  const nodes = [...svg.querySelectorAll(".graph-node")];
  if (nodes.length && !nodes.some((node) => node.getAttribute("tabindex") === "0")) {
    nodes[0].setAttribute("tabindex", "0");
  }
}

function make(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function assign(dataset, values) {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete dataset[name];
    else dataset[name] = value;
  }
}
