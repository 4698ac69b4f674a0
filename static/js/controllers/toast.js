// Toasts: one sentence about what was just done; gone after a while, never the only place it is said.

const STAY_MS = 6000;

export function toast(text, state = "complete") {
  const holder = document.querySelector("[data-toasts]");
  const template = document.querySelector("[data-toast-template]");
  if (!holder || !template) return;
  const element = template.content.firstElementChild.cloneNode(true);
  element.dataset.state = state;
  element.querySelector("use").setAttribute("href", `#i-${state}`);
  element.querySelector("span").textContent = text;
  element.querySelector("button").addEventListener("click", () => element.remove());
  holder.append(element);
  document.querySelector("[data-status-line]").textContent = text;
  let timer = setTimeout(() => element.remove(), STAY_MS);
  element.addEventListener("pointerenter", () => clearTimeout(timer));
  element.addEventListener("pointerleave", () => (timer = setTimeout(() => element.remove(), STAY_MS)));
}
