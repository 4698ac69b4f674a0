// How long after its commit a change stands on the screen: measured here, told in the tile of Now.
// Clocks differ; instants come in this machine's time, as far as the fastest beat shows it.

import { gettext } from "../texts.js";

const KEPT = 200;
const STRETCHES = 12;
const WIDTH = 80;
const HEIGHT = 24;
const taken = [];

export function measureFrames(commits) {
  const tile = document.querySelector("[data-screen]");
  if (!tile || !commits.length) return;
  // The second frame begins when the first one, which drew the changes, is on its way to the screen.
  requestAnimationFrame(() => {
    for (const commit of commits) taken.push(Math.max(0, Date.now() - commit));
    taken.splice(0, taken.length - KEPT);
    tell(tile);
  });
}

export function p95(values) {
  const ordered = [...values].sort((one, other) => one - other);
  return ordered[Math.min(Math.floor(ordered.length * 0.95), ordered.length - 1)];
}

function span(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

function tell(tile) {
  const size = Math.ceil(taken.length / STRETCHES);
  const parts = [];
  for (let start = 0; start < taken.length; start += size) parts.push(p95(taken.slice(start, start + size)));
  const top = Math.max(...parts, 1);
  const points = parts.map((value, place) => {
    const x = (place * WIDTH) / Math.max(parts.length - 1, 1);
    return `${Math.round(x)},${Math.round(HEIGHT - 2 - ((HEIGHT - 4) * value) / top)}`;
  });
  tile.querySelector("[data-screen-p95]").textContent = span(p95(taken));
  tile.querySelector("[data-screen-told]").textContent = gettext("of {count} drawn here", { count: taken.length });
  tile.querySelector("[data-screen-line]").setAttribute("points", points.join(" "));
}
