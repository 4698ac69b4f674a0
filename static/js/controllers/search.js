// What is found while one types: in the field of every page, and in the palette.

const WAIT_MS = 120;
const SHORTEST = 2;
let asked = 0;

// The newest question alone is answered; null for those that another one has overtaken.
export async function hitsOf(text) {
  const mine = ++asked;
  if (text.trim().length < SHORTEST) return [];
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  if (mine !== asked) return null;
  try {
    const answer = await fetch(`/search/suggest/?${new URLSearchParams({ q: text.trim() })}`, {
      headers: { Accept: "application/json" },
    });
    if (mine !== asked) return null;
    return answer.ok ? (await answer.json()).hits : [];
  } catch {
    // Away for a moment; the live badge says so, and Enter still searches.
    return [];
  }
}

export function attachSearch(field) {
  const box = document.getElementById(field.getAttribute("aria-controls"));
  let hits = [];
  let chosen = -1;

  const choose = (place) => {
    chosen = hits.length ? (place + hits.length) % hits.length : -1;
    for (const [index, item] of [...box.children].entries()) item.setAttribute("aria-selected", String(index === chosen));
    if (chosen < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", box.children[chosen].id);
  };
  const show = (found) => {
    hits = found;
    box.replaceChildren(...hits.map(item));
    box.hidden = !hits.length;
    field.setAttribute("aria-expanded", String(hits.length > 0));
    choose(-1);
  };

  field.addEventListener("input", async () => {
    const found = await hitsOf(field.value);
    if (found && document.activeElement === field) show(found);
  });
  field.addEventListener("blur", () => setTimeout(() => show([]), 150));
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && hits.length) {
      event.preventDefault();
      choose(chosen < 0 && step < 0 ? -1 : chosen + step);
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.assign(hits[chosen].url);
    } else if (event.key === "Escape" && hits.length) {
      event.preventDefault();
      show([]);
    }
  });
  // Before the field loses its focus.
  box.addEventListener("pointerdown", (event) => {
    const place = [...box.children].indexOf(event.target.closest("[role=option]"));
    if (place >= 0) location.assign(hits[place].url);
  });
}

function item(hit, place) {
  const line = document.createElement("li");
  line.id = `hit-${place}`;
  line.setAttribute("role", "option");
  const told = document.createElement("span");
  told.className = "quiet";
  told.textContent = `${hit.note}, ${hit.state}`;
  line.append(hit.title, told);
  return line;
}
