// While nothing can be changed, what would change something is greyed, says why and does nothing.
// It stays focusable, so that its reason is read; what somebody wrote stays as it is.

import { gettext } from "../texts.js";

const CHANGES = 'form[method="post"] button[type="submit"], button[data-confirm]';
const WHY = gettext("Nothing can be changed now: see the notice at the top of the page");
let isOn = false;

export function attachStandstill() {
  const banner = document.querySelector("[data-trouble]");
  setStandstill(Boolean(banner && !banner.hidden && "stops" in banner.dataset));
  document.addEventListener("live:swapped", () => isOn && mark());
  // Before any other listener: dialogs stay shut, and no key sends a form.
  for (const kind of ["click", "submit"]) document.addEventListener(kind, stop, { capture: true });
}

export function setStandstill(on) {
  isOn = on;
  mark();
}

function mark() {
  for (const button of document.querySelectorAll(CHANGES)) {
    if (isOn && !button.hasAttribute("aria-disabled")) {
      button.dataset.standstill = button.title;
      button.setAttribute("aria-disabled", "true");
      button.title = WHY;
    } else if (!isOn && "standstill" in button.dataset) {
      button.removeAttribute("aria-disabled");
      button.title = button.dataset.standstill;
      delete button.dataset.standstill;
    }
  }
}

function stop(event) {
  if (!isOn) return;
  const isSent = event.type === "submit" && event.target.method === "post";
  if (!isSent && !event.target.closest?.("[data-standstill]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}
