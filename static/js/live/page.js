// Joins a page to its socket: badge, stale banner, pause, batches per animation frame.

import { setStandstill } from "../controllers/standstill.js";
import { LiveSocket } from "./socket.js";
import { measureFrames } from "./measured.js";
import { applyPieces, say } from "./swap.js";
import { gettext } from "../texts.js";

const ICONS = { live: "live", "catching-up": "scheduling", offline: "offline", paused: "pause" };
const TONES = { live: "live", "catching-up": "scheduling", offline: "offline", paused: "paused" };
const BANNER_AFTER = 1500;
// Loading again did not help: the next time is not at once.
const RELOAD_PAUSE = 10_000;
const LONGEST_PAUSE = 300_000;
const OVER_FOR = 30_000;
const NOT_AGAIN = {
  "signed-out": gettext("You are signed out: load the page again to sign in."),
  refused: gettext("The server does not keep this page current: load it again."),
};
const NARROW_SPACE = "\u202f";

export function startLive(body = document.body) {
  const topics = (body.dataset.live ?? "").split(",").filter(Boolean);
  if (!topics.length || !("WebSocket" in window)) return null;
  const page = new LivePage(topics, Number(body.dataset.index ?? 0));
  page.socket.open();
  return page;
}

class LivePage {
  #waiting = [];
  #commits = [];
  #isScheduled = false;
  #isPaused = false;
  #since = null;
  #state = "";
  #banner;
  #overTimer;
  #toldOn = 0;

  constructor(topics, index) {
    // The rest of such a page stays as it was loaded.
    this.isMenuOnly = topics.every((topic) => topic.split(":")[0] === "navigation");
    this.badge = document.querySelector("[data-live-badge]");
    this.banner = document.querySelector("[data-stale-banner]");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new LiveSocket({
      url: `${scheme}://${location.host}/live`,
      language: document.documentElement.lang,
      topics,
      index,
      on: {
        state: (state, measure) => this.#show(state, measure),
        pieces: (pieces, committed) => this.#queue(pieces, committed),
        gap: (topic, have, since) => console.info(`live: gap in ${topic}, ${have} to ${since}`),
        trouble: (strong, text, stops) => this.#trouble(strong, text, stops),
        reload: (reason, index) => this.#reload(reason, index),
        refused: (topic, reason) => console.info(`live: ${topic} refused, ${reason}`),
      },
    });
    addEventListener("online", () => this.socket.open());
    addEventListener("pagehide", () => this.socket.close());
    addEventListener("pageshow", (event) => event.persisted && this.socket.open());
    document.addEventListener("click", (event) => this.#clicked(event));
  }

  toggle() {
    this.#isPaused = !this.#isPaused;
    for (const button of document.querySelectorAll('[data-action="pause"]')) {
      button.setAttribute("aria-pressed", String(this.#isPaused));
    }
    if (!this.#isPaused) this.#schedule();
    this.#show(this.#isPaused ? "paused" : "live", this.#isPaused ? 0 : this.socket.lag);
  }

  pause() {
    if (!this.#isPaused) this.toggle();
  }

  #clicked(event) {
    const action = event.target.closest?.("[data-action]")?.dataset.action;
    if (action === "reconnect") this.socket.open();
    if (action === "pause") this.toggle();
  }

  #queue(pieces, committed) {
    this.#waiting.push(...pieces);
    if (committed && pieces.length && !this.#isPaused && !document.hidden) this.#commits.push(committed);
    if (this.#isPaused) this.#show("paused", this.#waiting.length);
    else this.#schedule();
  }

  #schedule() {
    if (this.#isScheduled || !this.#waiting.length) return;
    this.#isScheduled = true;
    const work = () => {
      this.#isScheduled = false;
      try {
        applyPieces(this.#waiting.splice(0));
        measureFrames(this.#commits.splice(0));
      } catch (fault) {
        reportError(fault);
        // What could not be shown is not sent again.
        this.#reload("a change could not be shown", this.socket.newest);
      }
    };
    // Animation frames stop in hidden tabs; the page must stay current there too.
    if (document.hidden) setTimeout(work, 0);
    else requestAnimationFrame(work);
  }

  #show(state, measure) {
    if (this.#isPaused && state === "live") state = "paused";
    this.#badge(state, measure);
    if (state === this.#state) return;
    const before = this.#state;
    this.#state = state;
    document.documentElement.dataset.liveState = state;
    const isStale = ["offline", "signed-out", "refused"].includes(state);
    if (isStale) this.#offline(state, measure);
    else if (state === "live") this.#online(before);
  }

  #badge(state, measure) {
    if (!this.badge) return;
    const known = ICONS[state] ?? "offline";
    this.badge.dataset.state = TONES[state] ?? "offline";
    this.badge.querySelector("use")?.setAttribute("href", `#i-${known}`);
    const word = this.badge.querySelector("[data-live-word]");
    if (word) word.textContent = this.#word(state, measure);
    for (const element of document.querySelectorAll("[data-live-index]")) {
      element.textContent = grouped(this.socket.newest);
    }
  }

  #word(state, measure) {
    switch (state) {
      case "live":
        if (this.isMenuOnly) return gettext("menu live");
        return gettext("live {lag}", {
          lag: measure < 1000 ? `${Math.round(measure)} ms` : `${(measure / 1000).toFixed(1)} s`,
        });
      case "catching-up":
        if (this.#since) return gettext("connecting, showing {time}", { time: clock(this.#since) });
        if (this.isMenuOnly) return gettext("as loaded");
        return measure > 0 ? gettext("catching up {count} behind", { count: grouped(measure) }) : gettext("connecting");
      case "paused":
        return measure > 0 ? gettext("paused {count} new", { count: grouped(measure) }) : gettext("paused");
      case "signed-out":
        return gettext("signed out");
      case "refused":
        return gettext("not live");
      default:
        return gettext("offline, showing {time}", { time: clock(this.#since ?? new Date()) });
    }
  }

  #offline(state, delay) {
    this.#since ??= new Date();
    for (const panel of document.querySelectorAll("[data-live-panel]")) panel.dataset.stale = "";
    // A blink of the line is the badge's business; the page does not jump for it.
    const patience = state === "offline" ? BANNER_AFTER : 0;
    this.#banner ??= setTimeout(() => this.banner && (this.banner.hidden = false), patience);
    if (this.banner) {
      this.banner.querySelector("[data-stale-since]").textContent = clock(this.#since);
      this.banner.querySelector("[data-stale-retry]").textContent =
        NOT_AGAIN[state] ?? gettext("Trying again in {seconds} s.", { seconds: Math.max(1, Math.round(delay / 1000)) });
    }
    document.querySelector("[data-status-line]")?.setAttribute("aria-live", "assertive");
    say(gettext("Offline since {time}.", { time: clock(this.#since) }));
  }

  #online(before) {
    const wasStale = this.#since !== null;
    this.#since = null;
    for (const panel of document.querySelectorAll("[data-live-panel]")) delete panel.dataset.stale;
    clearTimeout(this.#banner);
    this.#banner = undefined;
    if (this.banner) this.banner.hidden = true;
    // Trouble is told before anything else: a line that begins without it is one without trouble.
    if (this.#toldOn !== this.socket.connection) this.#trouble("", "");
    document.querySelector("[data-status-line]")?.setAttribute("aria-live", "polite");
    if (wasStale && before) say(gettext("Live again."));
  }

  // What does not work now; when it is over that is said for a while.
  #trouble(strong, text, stops = false) {
    setStandstill(stops);
    const banner = document.querySelector("[data-trouble]");
    if (!banner || (!strong && banner.hidden)) return;
    clearTimeout(this.#overTimer);
    this.#toldOn = this.socket.connection;
    banner.hidden = false;
    banner.dataset.state = strong ? "failed" : "complete";
    banner.querySelector("use").setAttribute("href", strong ? "#i-warning" : "#i-complete");
    banner.querySelector("[data-trouble-strong]").textContent = strong || gettext("This is over.");
    banner.querySelector("[data-trouble-text]").textContent = strong ? text : gettext("Everything works again.");
    if (!strong) this.#overTimer = setTimeout(() => (banner.hidden = true), OVER_FOR);
  }

  #reload(reason, index) {
    this.socket.close();
    console.info(`live: ${reason}`);
    // Loading again would throw away what somebody wrote, or send a form a second time.
    const isKept = "posted" in document.body.dataset || document.querySelector("[data-unsaved]");
    if (isKept) this.#goOnFrom(index);
    const last = Number(sessionStorage.getItem("live-reloaded") ?? 0);
    const pause = Number(sessionStorage.getItem("live-pause") ?? RELOAD_PAUSE);
    const isSoon = Date.now() - last < pause;
    if (isSoon) {
      sessionStorage.setItem("live-pause", String(Math.min(2 * pause, LONGEST_PAUSE)));
      const delay = pause * (0.75 + Math.random() / 2);
      sessionStorage.setItem("live-reloaded", String(Date.now() + delay));
      this.#show("offline", delay);
      setTimeout(() => (isKept ? this.socket.open() : location.reload()), delay);
      return;
    }
    sessionStorage.setItem("live-pause", String(RELOAD_PAUSE));
    sessionStorage.setItem("live-reloaded", String(Date.now()));
    if (isKept) this.socket.open();
    else location.reload();
  }

  #goOnFrom(index) {
    this.socket.skipTo(index);
    const notice = document.querySelector("[data-older-notice]");
    if (notice) notice.hidden = false;
    say(gettext("Parts of this page are older."));
  }
}

function grouped(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}

function clock(date) {
  return date.toTimeString().slice(0, 8);
}
