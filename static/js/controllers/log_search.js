// Finds a text in output that is shown, while more arrives: marks by ranges, so that the text stays as it is.
// Enter goes to the later match, Shift+Enter to the earlier one; a time jumps to the first line of it.

import { gettext } from "../texts.js";

const TIME = /^[[("']?(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d:\d\d:\d\d)/gm;
const MOST = 5000;

export class LogSearch {
  constructor(panel, text) {
    this.text = text;
    this.form = panel.querySelector("[data-logs-find]");
    this.told = panel.querySelector("[data-logs-found]");
    this.at = panel.querySelector("[data-logs-at]");
    this.ranges = [];
    this.current = -1;
    this.form.addEventListener("submit", (event) => {
      // The button that opens the page of all that is kept goes there.
      if (event.submitter?.hasAttribute("data-logs-all")) return;
      event.preventDefault();
      if (document.activeElement === this.at) return this.toTime();
      this.step(1);
    });
    // No button of the form: Enter presses the first of those.
    this.form.querySelector("[data-logs-earlier]").addEventListener("click", () => this.step(-1));
    this.find.addEventListener("input", () => this.again(true));
    this.find.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !event.shiftKey) return;
      event.preventDefault();
      this.step(-1);
    });
  }

  get find() {
    return this.form.elements.find;
  }

  // Text was added or taken away: look again, at most ten times a second.
  changed() {
    this.due ??= setTimeout(() => this.again(false), 100);
  }

  again(isNew) {
    clearTimeout(this.due);
    this.due = undefined;
    const wanted = this.find.value.toLowerCase();
    this.ranges = wanted ? rangesOf(this.text, wanted) : [];
    this.current = isNew || this.current < 0 ? -1 : Math.max(-1, Math.min(this.current, this.ranges.length - 1));
    if (isNew && this.ranges.length) this.step(-1);
    else this.show();
  }

  step(way) {
    if (!this.ranges.length) return this.show();
    const count = this.ranges.length;
    this.current = this.current < 0 ? (way > 0 ? 0 : count - 1) : (this.current + way + count) % count;
    const place = this.ranges[this.current].getBoundingClientRect();
    const box = this.text.getBoundingClientRect();
    this.text.scrollTop += place.top - box.top - box.height / 2;
    this.show();
  }

  show() {
    const wanted = this.find.value;
    const count = this.ranges.length;
    const words = !wanted ? "" : !count ? gettext("not in what is shown") : this.current < 0 ? gettext("{count} matches", { count }) : gettext("{place} of {count} matches", { place: this.current + 1, count });
    if (this.told.textContent !== words) this.told.textContent = words;
    if (!CSS.highlights) return;
    CSS.highlights.set("found", new Highlight(...this.ranges));
    CSS.highlights.set("found-now", new Highlight(...this.ranges.slice(this.current, this.current + 1).filter(() => this.current >= 0)));
  }

  // To the first line of that time or a later one; a time without a day is of the newest line's day.
  toTime() {
    const wanted = /^(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d:\d\d)(?::(\d\d))?$/.exec(this.at.value.trim());
    if (!wanted) return this.say(gettext("write a time as 14:05 or 14:05:30"));
    const times = [...this.text.textContent.matchAll(TIME)];
    if (!times.length) return this.say(gettext("no line shown begins with a time"));
    const stamp = `${wanted[1] ?? times.at(-1)[1] ?? ""} ${wanted[2]}:${wanted[3] ?? "00"}`;
    const found = times.find((time) => `${time[1] ?? ""} ${time[2]}` >= stamp);
    if (!found) return this.say(gettext("nothing was written then or later"));
    const range = rangeAt(this.text, found.index, found[0].length);
    this.text.scrollTop += range.getBoundingClientRect().top - this.text.getBoundingClientRect().top;
    this.text.dispatchEvent(new Event("scroll"));
    this.say(gettext("at {time}", { time: found[2] }));
  }

  say(words) {
    this.told.textContent = words;
  }
}

function rangesOf(holder, wanted) {
  const ranges = [];
  const text = holder.textContent.toLowerCase();
  for (let at = text.indexOf(wanted); at >= 0 && ranges.length < MOST; at = text.indexOf(wanted, at + wanted.length)) {
    ranges.push(at);
  }
  return placesOf(holder, ranges, wanted.length);
}

function rangeAt(holder, at, length) {
  return placesOf(holder, [at], length)[0];
}

// Places in the whole text as ranges over the pieces that it arrived in; one walk for all.
function placesOf(holder, places, length) {
  const nodes = [...holder.childNodes];
  let node = 0;
  let before = 0;
  const to = (place) => {
    while (node < nodes.length - 1 && before + nodes[node].length < place) before += nodes[node++].length;
    return [nodes[node], Math.min(place - before, nodes[node].length)];
  };
  return places.map((place) => {
    const range = document.createRange();
    range.setStart(...to(place));
    range.setEnd(...to(place + length));
    return range;
  });
}
