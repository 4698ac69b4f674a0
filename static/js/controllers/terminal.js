// A terminal inside a task: opens the websocket that the panel names and draws what comes.
// [data-terminal] holds the form, the buttons of actions, the status and the screen.

const BEAT_MS = 10_000;
const MOST_PENDING = 1_000_000;
const GONE = { 1006: "the connection broke off", 4401: "you are signed out" };

export async function attachTerminal() {
  const panel = document.querySelector("[data-terminal]");
  const { createTerminal } = await import(panel.dataset.script);
  const part = (name) => panel.querySelector(`[data-terminal-${name}]`);
  const [status, screen, form, larger, close] = ["status", "screen", "form", "larger", "close"].map(part);
  let session;

  const open = (query, what) => {
    session?.end();
    // xterm.js fills what it is given, edges included.
    const mount = document.createElement("div");
    mount.className = "terminal-mount";
    screen.replaceChildren(mount);
    screen.hidden = larger.hidden = close.hidden = false;
    status.textContent = `opening ${what}`;
    session = begin(panel, mount, query, (text, ended) => {
      status.textContent = text;
      close.hidden = ended;
    }, createTerminal, what);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = Object.fromEntries(new FormData(form));
    if (said.task) open(said, `${said.command} in ${said.task}`);
  });
  for (const button of panel.querySelectorAll("[data-terminal-action]"))
    button.addEventListener("click", () => {
      const { terminalAction: action, terminalTask: task } = button.dataset;
      open({ task, action }, `${action} in ${task}`);
    });
  close.addEventListener("click", () => session?.end());
  larger.addEventListener("click", () => {
    const isLarger = panel.classList.toggle("terminal-larger");
    larger.setAttribute("aria-pressed", String(isLarger));
    session?.focus();
  });
  // A terminal takes every key: this one gives the page back.
  screen.addEventListener("keydown", (event) => {
    if (event.key !== "Home" || !event.ctrlKey || !event.shiftKey) return;
    event.stopPropagation();
    event.preventDefault();
    form.elements.command.focus();
  }, true);
  addEventListener("beforeunload", (event) => session?.isOpen && event.preventDefault());
}

function begin(panel, mount, query, tell, createTerminal, what) {
  const address = new URL(panel.dataset.terminal, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.search = new URLSearchParams(query);
  const socket = new WebSocket(address);
  const began = Date.now();
  const say = (frame) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(frame));
  let code;
  let isBegun = false;
  const terminal = createTerminal({
    parent: mount,
    theme: colours(mount.parentElement),
    font: getComputedStyle(mount).getPropertyValue("--font-mono"),
    size: 13,
    nonce: panel.dataset.nonce,
    label: `Terminal: ${what}`,
    onData: (text) => socket.bufferedAmount < MOST_PENDING && say({ stdin: { data: coded(text) } }),
    onSize: (height, width) => say({ tty_size: { height, width } }),
  });
  const recolour = () => mount.isConnected && terminal.setTheme(colours(mount.parentElement));
  const themes = new MutationObserver(recolour);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", recolour);
  let beat;
  const session = {
    isOpen: true,
    focus: () => terminal.focus(),
    end: () => socket.close(),
  };
  socket.addEventListener("open", () => {
    say({ tty_size: { height: terminal.rows, width: terminal.cols } });
    beat = setInterval(() => say({}), BEAT_MS);
  });
  socket.addEventListener("message", (event) => {
    const frame = JSON.parse(event.data);
    // The first one says that the command runs.
    if (!isBegun) {
      isBegun = true;
      tell(`open: ${what}`, false);
      terminal.focus();
    }
    if (frame.stdout?.data) terminal.write(bytes(frame.stdout.data));
    if (frame.exited) code = frame.result.exit_code ?? 0;
  });
  socket.addEventListener("close", (event) => {
    clearInterval(beat);
    themes.disconnect();
    dark.removeEventListener("change", recolour);
    session.isOpen = false;
    const seconds = Math.round((Date.now() - began) / 1000);
    const why = event.reason || GONE[event.code] || "closed";
    tell(code === undefined ? `ended: ${why}` : `ended after ${seconds} s: exit code ${code}`, true);
  });
  return session;
}

// The tokens of the page, which follow the theme, as xterm.js wants them.
function colours(screen) {
  const style = getComputedStyle(screen);
  const probe = document.createElement("span");
  screen.append(probe);
  const of = (token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const theme = {
    background: style.backgroundColor,
    foreground: of("--ink-1"),
    cursor: of("--brand-ink"),
    cursorAccent: of("--surface-2"),
    selectionBackground: of("--line-rule"),
    black: of("--ink-3"),
    red: of("--failed-ink"),
    green: of("--complete-ink"),
    yellow: of("--blocked-ink"),
    blue: of("--scheduling-ink"),
    magenta: of("--delayed-ink"),
    cyan: of("--applying-ink"),
    white: of("--ink-2"),
  };
  for (const name of ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"])
    theme[`bright${name[0].toUpperCase()}${name.slice(1)}`] = theme[name];
  probe.remove();
  return theme;
}

function coded(text) {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
