// A terminal in an element: what the page needs of xterm.js, and nothing more.
// Its styles are mounted with the page's CSP nonce.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

export function createTerminal({ parent, theme, font, size, nonce, label, onData, onSize }) {
  mounted = nonce;
  const terminal = new Terminal({
    theme,
    fontFamily: font,
    fontSize: size,
    cursorBlink: false,
    scrollback: 5000,
    // Programs choose colours for a black screen; ours is light or dark.
    minimumContrastRatio: 4.5,
    screenReaderMode: true,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(parent);
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

// xterm.js makes style elements and knows no nonce, and it writes style attributes, which a policy without
// `unsafe-inline` refuses. On a page that loads it, elements are made with the one, and set the other as properties.
let mounted = "";
const { createElement } = document;
const { setAttribute } = Element.prototype;

document.createElement = function (name, options) {
  const element = createElement.call(document, name, options);
  if (mounted && String(name).toLowerCase() === "style") element.nonce = mounted;
  return element;
};

Element.prototype.setAttribute = function (name, value) {
  if (name === "style" && this instanceof HTMLElement) this.style.cssText = value;
  else setAttribute.call(this, name, value);
};
