// A drawn graph as a picture that stands alone: SVG text with its styles inside, or PNG at twice the size.
// Styles become attributes, because the policy of the page it came from allows no inline style.

import { toast } from "../controllers/toast.js";
import { gettext } from "../texts.js";

const SVG = "http://www.w3.org/2000/svg";
const SCALE = 2;
// Browsers draw no canvas that is longer.
const LONGEST = 16_384;
const MARGIN = 16;
const STYLES = [
  "color", "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "paint-order",
];
const UNSAID = ["", "none", "normal", "1"];
const DRAWN = "path, rect, circle, use, text, tspan";
const FOR_THE_PAGE = ["class", "role", "tabindex", "aria-label", "aria-current", "aria-labelledby", "href"];

export async function copyPicture(holder, kind) {
  const { text, width, height } = svgText(holder.querySelector("svg.graph"));
  const picture = kind === "png" ? pngOf(text, width, height) : new Blob([text], { type: "image/svg+xml" });
  try {
    // A browser gives the clipboard only while the click lasts, so the picture is promised, not awaited.
    const plain = new Blob([text], { type: "text/plain" });
    const item = kind === "png" ? { "image/png": picture } : { "text/plain": plain };
    await navigator.clipboard.write([new ClipboardItem(item)]);
    toast(gettext("Copied as {kind}", { kind: kind.toUpperCase() }));
  } catch {
    await saveInstead(picture, `${holder.dataset.graph}.${kind}`);
  }
}

async function saveInstead(picture, name) {
  try {
    save(await picture, name);
  } catch {
    toast(gettext("Too large for PNG: copy as SVG"));
  }
}

// Plain http off loopback has no clipboard: the picture becomes a file.
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  toast(gettext("Saved as {name}", { name }));
}

export function svgText(svg) {
  const [x, y, width, height] = svg.getAttribute("viewBox").split(/\s+/).map(Number);
  const box = [x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN];
  const copy = styledCopy(svg);
  const ground = getComputedStyle(svg.closest(".panel") ?? document.body).backgroundColor;
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("viewBox", box.join(" "));
  copy.setAttribute("width", box[2]);
  copy.setAttribute("height", box[3]);
  copy.insertBefore(make("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: ground }), copy.firstElementChild);
  copy.insertBefore(definitions(svg), copy.firstElementChild);
  return { text: new XMLSerializer().serializeToString(copy), width: box[2], height: box[3] };
}

function styledCopy(element) {
  const isLink = element.tagName === "a";
  const copy = isLink ? make("g", {}) : element.cloneNode(false);
  if (element.matches(DRAWN)) paint(copy, getComputedStyle(element));
  for (const name of element.tagName === "use" ? FOR_THE_PAGE.slice(0, -1) : FOR_THE_PAGE) copy.removeAttribute(name);
  for (const { name } of [...copy.attributes]) if (name.startsWith("data-")) copy.removeAttribute(name);
  copy.removeAttribute("style");
  if (isLink && element.hasAttribute("aria-label")) copy.append(titled(element.getAttribute("aria-label")));
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
    else if (child.nodeType === Node.ELEMENT_NODE && !child.matches(".graph-pulse")) copy.append(styledCopy(child));
  }
  return copy;
}

function paint(copy, style) {
  for (const name of STYLES) {
    const value = style.getPropertyValue(name);
    const isDefault = UNSAID.includes(value) && name !== "fill" && name !== "stroke";
    if (!isDefault) copy.setAttribute(name, value);
  }
}

// The arrowheads and icons that the drawing uses stand elsewhere in the page.
function definitions(svg) {
  const wanted = new Set([...svg.querySelectorAll("use")].map((use) => use.getAttribute("href").slice(1)));
  for (const line of svg.querySelectorAll("[marker-end]")) wanted.add(/#([\w-]+)/.exec(line.getAttribute("marker-end"))[1]);
  const defs = make("defs", {});
  for (const id of wanted) {
    const found = document.getElementById(id);
    if (found) defs.append(found.tagName === "marker" ? markerCopy(found) : symbolCopy(found));
  }
  return defs;
}

function markerCopy(marker) {
  const copy = marker.cloneNode(true);
  const path = copy.querySelector("path");
  path.setAttribute("fill", getComputedStyle(marker.querySelector("path")).fill);
  path.removeAttribute("class");
  return copy;
}

// Icons take the colour of the node they stand in; only what is drawn on a disc has its own.
function symbolCopy(symbol) {
  const copy = symbol.cloneNode(true);
  const originals = symbol.querySelectorAll("*");
  for (const [place, part] of [...copy.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(originals[place]);
    if (part.matches(".fill, .solid")) assign(part, { fill: "currentColor", stroke: "none" });
    if (part.matches(".on")) assign(part, { stroke: style.stroke, "stroke-width": style.strokeWidth });
    if (part.matches(".dot")) assign(part, { "stroke-width": style.strokeWidth });
    part.removeAttribute("class");
  }
  return copy;
}

export async function pngOf(text, width, height) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  const scale = Math.min(SCALE, LONGEST / Math.max(width, height));
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no picture"))), "image/png"));
}

function titled(text) {
  const title = make("title", {});
  title.textContent = text;
  return title;
}

function make(tag, attributes) {
  return assign(document.createElementNS(SVG, tag), attributes);
}

function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
