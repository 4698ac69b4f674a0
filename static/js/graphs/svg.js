// Puts what the server drew into the drawing: by layer and key, each element changed in place, so that focus, hover
// and position stay. Knows no shape; fetches nothing.

const BEAT_MS = 700;
// What a person or this script changes in an element that is drawn.
const KEPT = ["class", "tabindex"];
// The markup that an element was last made of: what comes again is not read again.
const drawn = new WeakMap();

// All of a graph: what is not in it goes.
export function drawGraph(holder, drawing) {
  put(holder, drawing, align);
}

// Only what differs from what is drawn: the cost is that of the change, not of the graph.
export function patchGraph(holder, patch) {
  put(holder, patch, add);
}

function put(holder, { frame = {}, description, layers = {}, gone = {} }, place) {
  const svg = holder.querySelector("svg.graph");
  if (!svg) return;
  for (const [name, value] of Object.entries(frame)) svg.setAttribute(name, value);
  const told = svg.querySelector(":scope > desc");
  if (told && description && told.textContent !== description) told.textContent = description;
  const layer = (name) => svg.querySelector(`:scope > .graph-${name}`);
  const taken = new Set(takenIn(svg));
  for (const [name, keys] of Object.entries(gone)) {
    const known = byKey(layer(name));
    for (const key of keys) known.get(key)?.remove();
  }
  for (const [name, markup] of Object.entries(layers)) place(layer(name), elementsOf(layer(name), markup));
  keepOneTabStop(svg);
  if (taken.size) flashEdges(holder, takenIn(svg).filter((key) => !taken.has(key)));
}

// The elements of a layer that this markup makes: those it has, changed where they differ, and new ones.
function elementsOf(layer, markup) {
  const unchanged = new Map([...layer.children].map((element) => [drawn.get(element), element]));
  const known = byKey(layer);
  const changed = markup.filter((text) => !unchanged.has(text));
  const fresh = new Map(parsed(changed).map((element, at) => [changed[at], element]));
  return markup.map((text) => {
    if (unchanged.has(text)) return unchanged.get(text);
    const element = become(known.get(fresh.get(text).dataset.key), fresh.get(text));
    drawn.set(element, text);
    return element;
  });
}

function parsed(markup) {
  const template = document.createElement("template");
  template.innerHTML = `<svg>${markup.join("")}</svg>`;
  return [...template.content.firstElementChild.children];
}

// These and no others, in this order.
function align(layer, elements) {
  const wanted = new Set(elements);
  for (const element of [...layer.children]) if (!wanted.has(element)) element.remove();
  let before = null;
  for (const element of elements) {
    // Moving an element costs it the focus, so it is moved only when its place is wrong.
    const there = before ? before.nextElementSibling : layer.firstElementChild;
    if (element !== there) layer.insertBefore(element, there);
    before = element;
  }
}

function add(layer, elements) {
  for (const element of elements) if (element.parentNode !== layer) layer.append(element);
}

function byKey(layer) {
  return new Map([...layer.children].map((element) => [element.dataset.key, element]));
}

// The known element, made like the fresh one; the fresh one itself where none is known.
function become(known, fresh) {
  if (!known) {
    // One tab stop is enough where arrow keys go on.
    if (fresh.hasAttribute("tabindex")) fresh.setAttribute("tabindex", "-1");
    return fresh;
  }
  for (const { name, value } of fresh.attributes) {
    if (!KEPT.includes(name) && known.getAttribute(name) !== value) known.setAttribute(name, value);
  }
  for (const { name } of [...known.attributes]) {
    if (!KEPT.includes(name) && !fresh.hasAttribute(name)) known.removeAttribute(name);
  }
  const [old, wanted] = [[...known.childNodes], [...fresh.childNodes]];
  const isSame = old.length === wanted.length && old.every((node, at) => node.isEqualNode(wanted[at]));
  if (!isSame) known.replaceChildren(...wanted);
  return known;
}

// Arrows along which something moved thicken for one beat.
export function flashEdges(holder, keys) {
  for (const key of keys) {
    const edge = holder.querySelector(`.graph-edge[data-key="${CSS.escape(key)}"]`);
    edge?.classList.add("moved");
    setTimeout(() => edge?.classList.remove("moved"), BEAT_MS);
  }
}

function takenIn(svg) {
  return [...svg.querySelectorAll('.graph-edge[data-path="taken"]')].map((element) => element.dataset.key);
}

function keepOneTabStop(svg) {
  const nodes = [...svg.querySelectorAll(".graph-node")];
  if (nodes.length && !nodes.some((node) => node.getAttribute("tabindex") === "0")) {
    nodes[0].setAttribute("tabindex", "0");
  }
}
