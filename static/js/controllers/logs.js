// Follows a task's output, or a file: [data-logs] names the address; the text goes in as text, never as markup.

import { LogSearch } from "./log_search.js";
import { gettext } from "../texts.js";

const KEPT = 200_000;
const RETRY_MS = [1000, 2000, 4000, 8000];

export function attachLogs(panel) {
  const log = new Log(panel);
  if (!("logsWaits" in panel.dataset)) return log.open();
  const begin = panel.querySelector("[data-logs-begin]");
  begin.hidden = false;
  log.say(gettext("press Follow to see what is added"), gettext("not followed"));
  begin.addEventListener("click", () => log.another());
}

class Log {
  constructor(panel) {
    this.url = panel.dataset.logs;
    this.text = panel.querySelector("[data-logs-text]");
    this.status = panel.querySelector("[data-logs-status]");
    this.task = panel.querySelector("[data-logs-task]");
    this.follow = panel.querySelector("[data-logs-follow]");
    this.type = "stdout";
    this.length = 0;
    this.failures = 0;
    this.task?.addEventListener("change", () => this.another());
    this.search = panel.querySelector("[data-logs-find]") ? new LogSearch(panel, this.text) : null;
    this.download = panel.querySelector("[data-logs-download]");
    for (const button of panel.querySelectorAll("[data-logs-type]")) {
      button.addEventListener("click", () => {
        this.type = button.dataset.logsType;
        for (const other of panel.querySelectorAll("[data-logs-type]")) other.setAttribute("aria-pressed", String(other === button));
        this.another();
      });
    }
    this.follow.addEventListener("change", () => this.toEnd());
    panel.querySelector("[data-logs-wrap]").addEventListener("change", (event) => this.text.toggleAttribute("data-wrap", event.target.checked));
    // Scrolling up reads in peace; scrolling back to the end follows again.
    this.text.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.text;
      this.follow.checked = scrollHeight - scrollTop - clientHeight < 24;
    });
    addEventListener("pagehide", () => this.call?.abort());
  }

  another() {
    this.clear();
    this.failures = 0;
    this.say("opening");
    this.open();
  }

  clear() {
    this.text.replaceChildren();
    this.length = 0;
    this.search?.changed();
  }

  // What was shown stays until there is something newer.
  async open() {
    this.call?.abort();
    clearTimeout(this.retry);
    const call = (this.call = new AbortController());
    const address = this.address();
    for (const name of ["task", "type"]) {
      const field = this.search?.form.elements[name];
      if (field) field.value = name === "task" ? this.task.value : this.type;
    }
    if (this.download) this.download.href = `${address}&download`;
    try {
      const answer = await fetch(address, { signal: call.signal });
      if (answer.status !== 200) return this.refused(answer, await answer.text());
      this.clear();
      this.failures = 0;
      this.say(gettext("following live"), gettext("Nothing written yet."));
      await this.read(answer.body.getReader());
      this.say(gettext("ended"), gettext("Nothing was written."));
    } catch (error) {
      if (error.name !== "AbortError") this.again(gettext("connection lost, trying again"));
    }
  }

  address() {
    return this.task ? `${this.url}?${new URLSearchParams({ task: this.task.value, type: this.type })}` : this.url;
  }

  async read(reader) {
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.append(decoder.decode(value, { stream: true }));
    }
  }

  append(piece) {
    this.text.append(piece);
    this.length += piece.length;
    while (this.length > KEPT && this.text.childNodes.length > 1) {
      this.length -= this.text.firstChild.length;
      this.text.firstChild.remove();
    }
    this.search?.changed();
    this.toEnd();
  }

  toEnd() {
    if (this.follow.checked) this.text.scrollTop = this.text.scrollHeight;
  }

  // The answer says why, and whether asking again may help: a collected allocation has no output ever.
  refused(answer, reason) {
    const words = reason.slice(0, 200);
    if (answer.status >= 500 || answer.headers.has("Retry-After")) this.again(words);
    else this.say(words);
  }

  again(reason) {
    this.say(reason);
    this.retry = setTimeout(() => this.open(), RETRY_MS[Math.min(this.failures++, RETRY_MS.length - 1)]);
  }

  // `none` stands where the output would be, as long as there is none.
  say(words, none = words) {
    if (this.status.textContent !== words) this.status.textContent = words;
    this.text.dataset.none = none;
  }
}
