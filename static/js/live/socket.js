// One socket per page: connects with the page's index, resumes from the last one, backs off, measures lag.
// Knows nothing of the DOM: it reports states and hands over messages.

const FIRST_DELAY = 250;
const LONGEST_DELAY = 10_000;
// A line that says something and breaks again is not well: waits grow until one has held for so long.
const HEALTHY_AFTER = 15_000;
// The server beats every second; longer silence means the line is dead although it looks open.
const SILENCE = 5_000;
const SEEN_EVERY = 500;
const SIGNED_OUT = 4401;
const RIGHTS_CHANGED = 4403;
const BAD_REQUEST = 4400;

export class LiveSocket {
  #socket = null;
  #have = new Map();
  #delay = FIRST_DELAY;
  #timers = new Map();
  #received = 0;
  #reported = 0;
  #skew = Infinity;
  #liveFrom = Infinity;

  constructor({ url, topics, index, language, on }) {
    this.url = url;
    this.language = language;
    this.topics = topics;
    this.on = on;
    this.lag = 0;
    this.connection = 0;
    this.newest = index;
    for (const topic of topics) this.#have.set(topic, index);
  }

  // The index every topic is complete up to: where a new connection continues.
  get index() {
    return this.#have.size ? Math.min(...this.#have.values()) : this.newest;
  }

  open() {
    this.#stop("retry");
    this.#socket?.close();
    this.connection += 1;
    const query = new URLSearchParams({ index: String(this.index), topics: this.topics.join(",") });
    if (this.language && this.language !== "en") query.set("language", this.language);
    const socket = new WebSocket(`${this.url}?${query}`);
    this.#socket = socket;
    this.#received = this.#reported = 0;
    this.#liveFrom = Infinity;
    this.on.state("catching-up", this.newest - this.index);
    socket.onmessage = (event) => socket === this.#socket && this.#take(event.data);
    socket.onclose = (event) => socket === this.#socket && this.#closed(event.code);
    this.#listenForSilence();
    this.#start("seen", () => this.#report(), SEEN_EVERY, true);
  }

  // Give up what lies between: every topic goes on from this index.
  skipTo(index) {
    for (const [topic, have] of this.#have) this.#have.set(topic, Math.max(have, index));
    this.newest = Math.max(this.newest, index);
  }

  close() {
    for (const name of [...this.#timers.keys()]) this.#stop(name);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #take(text) {
    this.#received += 1;
    if (this.#received === 1) this.#start("healthy", () => (this.#delay = FIRST_DELAY), HEALTHY_AFTER);
    this.#listenForSilence();
    try {
      this.#understand(text);
    } catch (fault) {
      reportError(fault);
      this.#breakOff();
    }
  }

  #understand(text) {
    const message = JSON.parse(text);
    switch (message.type) {
      case "frame":
        return this.#frame(message);
      case "beat":
        return this.#beat(message);
      case "hint":
        return this.on.pieces(message.pieces, 0);
      case "trouble":
        return this.on.trouble(message.strong, message.text, message.stops);
      case "reload":
        return this.on.reload(message.reason, message.index);
      case "refused":
        this.#have.delete(message.topic);
        this.on.refused(message.topic, message.reason);
        if (!this.#have.size) this.#giveUp();
        return;
    }
  }

  #frame(message) {
    const have = this.#have.get(message.topic) ?? 0;
    if (message.since > have) {
      this.on.gap(message.topic, have, message.since);
      this.#breakOff();
      return;
    }
    // What time alone changed, and what was committed before this line was live, is not new now.
    const isNew = message.index > have && message.at > this.#liveFrom;
    this.#have.set(message.topic, Math.max(have, message.index));
    this.newest = Math.max(this.newest, message.index);
    if (this.#skew !== Infinity) this.lag = Math.max(0, Date.now() - this.#skew - message.at);
    this.on.pieces(message.pieces, isNew ? message.at + this.#skew : 0);
    this.on.state("live", this.lag);
  }

  #beat(message) {
    // Clocks differ; the fastest beat seen is the best guess of by how much.
    this.#skew = Math.min(this.#skew, Date.now() - message.at);
    if (this.#liveFrom === Infinity) this.#liveFrom = message.at;
    this.lag = Math.max(this.lag * 0.8, Date.now() - this.#skew - message.at);
    for (const [topic, have] of this.#have) this.#have.set(topic, Math.max(have, message.index));
    this.newest = Math.max(this.newest, message.index);
    this.on.state("live", this.lag);
  }

  #report() {
    if (this.#received === this.#reported || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#reported = this.#received;
    this.#socket.send(String(this.#received));
  }

  #closed(code) {
    for (const name of ["silence", "seen", "healthy"]) this.#stop(name);
    if (code === SIGNED_OUT) return this.on.state("signed-out", 0);
    if (code === RIGHTS_CHANGED) return this.on.reload("other rights", this.newest);
    if (code === BAD_REQUEST) return this.on.state("refused", 0);
    const delay = this.#delay * (0.75 + Math.random() / 2);
    this.#delay = Math.min(this.#delay * 1.7, LONGEST_DELAY);
    this.on.state("offline", delay);
    this.#start("retry", () => this.open(), delay);
  }

  #listenForSilence() {
    this.#start("silence", () => this.#breakOff(), SILENCE);
  }

  // What came makes no sense, or nothing comes: try again, as after any other loss.
  #breakOff() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#closed(0);
  }

  // Nothing of the page may be followed: trying again would get the same answer.
  #giveUp() {
    this.close();
    this.on.state("refused", 0);
  }

  #start(name, work, delay, repeats = false) {
    this.#stop(name);
    this.#timers.set(name, repeats ? setInterval(work, delay) : setTimeout(work, delay));
  }

  #stop(name) {
    clearTimeout(this.#timers.get(name));
    clearInterval(this.#timers.get(name));
    this.#timers.delete(name);
  }
}
