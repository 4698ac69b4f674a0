// The track under a story: moves through what was. Each stop is the same page as the server gives it for `?at=`; what it
// shows of that moment takes the place of what is here. Nothing is computed in the browser.

import { toast } from "./toast.js";
import { gettext } from "../texts.js";

// Quiet hours take no room, and a burst is still seen.
const LONGEST_MS = 3000;
const SHORTEST_MS = 120;

export function attachReplay(form) {
  const track = form.querySelector('input[type="range"]');
  if (!track) return;
  const stops = JSON.parse(form.dataset.stops);
  const problems = JSON.parse(form.dataset.problems);
  let wanted = null;
  let isAsking = false;
  let timer = 0;

  const place = () => Number(track.value);
  const told = () => track.setAttribute("aria-valuetext", gettext("event {place} of {count}, {time}", { place: place() + 1, count: stops.length, time: clock(stops[place()][1]) }));

  function go(position) {
    track.value = String(Math.min(Math.max(position, 0), stops.length - 1));
    told();
    wanted = place();
    if (!isAsking) ask();
  }

  async function ask() {
    isAsking = true;
    document.dispatchEvent(new CustomEvent("replay:past"));
    while (wanted !== null) {
      const position = wanted;
      wanted = null;
      const address = new URL(location.href);
      address.searchParams.set("at", stops[position][0]);
      try {
        const answer = await fetch(address);
        if (!answer.ok) throw new Error(String(answer.status));
        exchange(new DOMParser().parseFromString(await answer.text(), "text/html"));
        history.replaceState(null, "", address);
      } catch {
        stop();
        toast(gettext("The server did not answer: try again"), "failed");
      }
    }
    isAsking = false;
  }

  const button = form.querySelector("[data-replay-play]");
  function stop() {
    clearTimeout(timer);
    timer = 0;
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-label", gettext("Play from here"));
    button.querySelector("use").setAttribute("href", "#i-play");
  }

  function play() {
    if (place() >= stops.length - 1) go(0);
    button.setAttribute("aria-pressed", "true");
    button.setAttribute("aria-label", gettext("Stop playing"));
    button.querySelector("use").setAttribute("href", "#i-pause");
    const tick = () => {
      if (!form.isConnected || place() >= stops.length - 1) return stop();
      const between = (stops[place() + 1][1] - stops[place()][1]) / speed();
      timer = setTimeout(() => {
        // What the server has not answered yet is waited for.
        if (!isAsking) go(place() + 1);
        tick();
      }, Math.min(Math.max(between, SHORTEST_MS), LONGEST_MS));
    };
    tick();
  }

  const speed = () => Number(form.querySelector('input[name="speed"]:checked')?.value ?? 1);
  button.addEventListener("click", () => (timer ? stop() : play()));
  track.addEventListener("input", () => go(place()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    const link = event.target.closest("[data-replay-step]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    stop();
    const step = link.dataset.replayStep;
    if (step === "problem") return go(problems.find((each) => each > place()) ?? problems[0] ?? place());
    go(place() + (step === "back" ? -1 : 1));
  });
  told();
}

// Everything that is told of a moment, by its id; what the moment does not have goes.
function exchange(page) {
  document.title = page.title;
  for (const old of document.querySelectorAll("[data-as-was][id]")) {
    const fresh = page.getElementById(old.id);
    if (!fresh) continue;
    const scroll = [...old.querySelectorAll(".graph-scroll, .table-scroll")].map((each) => each.scrollLeft);
    old.replaceWith(fresh);
    [...fresh.querySelectorAll(".graph-scroll, .table-scroll")].forEach((each, at) => (each.scrollLeft = scroll[at] ?? 0));
    fresh.dispatchEvent(new CustomEvent("live:swapped", { bubbles: true }));
  }
}

function clock(ms) {
  return new Date(ms).toISOString().slice(11, 19);
}
