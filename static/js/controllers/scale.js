// A number of instances: a step less or more, told on the button that takes it; what it would do is rehearsed beside it.

import { applyPieces } from "../live/swap.js";
import { gettext } from "../texts.js";

const LOOK_AGAIN_MS = 700;
// What was found stays where live frames exchange the panel, for as long as the number is that of the rehearsal.
const found = new Map();

export function attachScale(field) {
  const input = field.querySelector("input");
  const place = field.querySelector(".scale-found");
  const press = field.querySelector("[data-scale-to]");
  const plain = press?.textContent;
  const told = () => {
    const count = input.value.trim();
    const isNew = /^\d+$/.test(count) && count !== input.defaultValue;
    if (press) press.textContent = isNew ? press.dataset.scaleTo.replace("{count}", count) : plain;
    const last = found.get(input.id);
    if (last && last.count !== count) {
      found.delete(input.id);
      applyPieces([{ kind: "html", target: place.id, html: `<div class="scale-found" id="${place.id}" role="status"></div>` }]);
    }
  };
  for (const step of field.querySelectorAll("[data-step]")) {
    step.addEventListener("click", () => {
      const next = (Number.parseInt(input.value, 10) || 0) + Number(step.dataset.step);
      input.value = String(Math.min(Number(input.dataset.most || Infinity), Math.max(Number(input.dataset.least || 0), next)));
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
  input.addEventListener("input", told);
  field.querySelector('[name="rehearse"]')?.addEventListener("click", (event) => rehearse(event, input, place.id));
  const last = found.get(input.id);
  if (last) applyPieces([{ kind: "html", target: place.id, html: last.html }]);
  told();
}

async function rehearse(event, input, id) {
  event.preventDefault();
  const count = input.value.trim();
  const asked = new FormData(event.currentTarget.form, event.currentTarget);
  asked.set("part", "1");
  let [address, means] = [event.currentTarget.form.getAttribute("action"), { method: "POST", body: asked }];
  while (address) {
    const html = await read(address, means);
    const current = document.getElementById(input.id);
    // The number was changed, or the page has gone on: nobody waits for this any more.
    if (!current || current.value.trim() !== count) return;
    const text = html ?? failed(id);
    found.set(input.id, { count, html: text });
    applyPieces([{ kind: "html", target: id, html: text }]);
    [address, means] = [document.getElementById(id)?.dataset.look, {}];
    if (address) await new Promise((done) => setTimeout(done, LOOK_AGAIN_MS));
  }
}

async function read(address, means) {
  try {
    const answer = await fetch(address, { ...means, headers: { Accept: "text/html" } });
    const html = await answer.text();
    return html.includes("scale-found") ? html : null;
  } catch {
    return null;
  }
}

function failed(id) {
  const holder = document.createElement("div");
  holder.className = "scale-found";
  holder.id = id;
  holder.setAttribute("role", "status");
  holder.textContent = gettext("The server did not answer: try again");
  return holder.outerHTML;
}
