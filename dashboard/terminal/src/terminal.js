// A terminal in an element: what the page needs of xterm.js, and nothing more.
// Its styles are mounted with the page's CSP nonce.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

export function createTerminal({ parent, theme, font, size, nonce, label, onData, onSize }) {
  const terminal = new Terminal({
    theme,
    fontFamily: font,
    fontSize: size,
    cursorBlink: false,
    scrollback: 5000,
    screenReaderMode: true,
    allowProposedApi: false,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withNonce(nonce, () => terminal.open(parent));
  terminal.textarea.setAttribute("aria-label", label);
  terminal.onData(onData);
  terminal.onResize(({ rows, cols }) => onSize(rows, cols));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(parent);
  fit.fit();
  return {
    write: (bytes, done) => terminal.write(bytes, done),
    focus: () => terminal.focus(),
    setTheme: (colours) => (terminal.options.theme = colours),
    get rows() {
      return terminal.rows;
    },
    get cols() {
      return terminal.cols;
    },
    dispose() {
      observer.disconnect();
      terminal.dispose();
    },
  };
}

// xterm.js makes style elements and knows no nonce.
function withNonce(nonce, work) {
  const make = document.createElement;
  document.createElement = function (name, options) {
    const element = make.call(document, name, options);
    if (String(name).toLowerCase() === "style") element.nonce = nonce;
    return element;
  };
  try {
    work();
  } finally {
    delete document.createElement;
  }
}
