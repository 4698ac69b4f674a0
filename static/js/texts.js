// Texts of the scripts in the page's language: the page brings those that there are, English is what stands here.
// Each `gettext("...")` has its line in `dashboard/script_texts.py`, by which it is translated with all others.

const source = document.getElementById("script-texts");
const known = source ? JSON.parse(source.textContent) : {};

export function gettext(text, values = {}) {
  return (known[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
