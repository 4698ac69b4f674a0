// The map of racks: one stop of the Tab key, arrow keys move from rack to rack, Enter opens one.

const KEYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

export function attachRacks(map) {
  let current = "";
  const links = () => [...map.querySelectorAll(".racks a")];

  function settle() {
    const all = links();
    const chosen = all.find((link) => link.parentElement.id === current) ?? map.querySelector(".racks a[aria-current]") ?? all[0];
    for (const link of all) {
      const wanted = link === chosen ? 0 : -1;
      if (link.tabIndex !== wanted) link.tabIndex = wanted;
    }
  }

  map.addEventListener("focusin", (event) => {
    const rack = event.target.closest(".racks li");
    if (!rack) return;
    current = rack.id;
    settle();
  });
  map.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || !event.target.matches(".racks a")) return;
    const next = step[0] ? beside(links(), event.target, step[0]) : above(links(), event.target, step[1]);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  // Racks are exchanged one by one by frames; a new one must not become a stop of its own.
  new MutationObserver(settle).observe(map, { childList: true, subtree: true });
  settle();
}

function beside(links, from, step) {
  return links[links.indexOf(from) + step];
}

// The nearest one of the next line, by where it stands on the screen.
function above(links, from, step) {
  const here = from.getBoundingClientRect();
  const lines = links
    .map((link) => ({ link, box: link.getBoundingClientRect() }))
    .filter(({ box }) => (step > 0 ? box.top >= here.bottom - 1 : box.bottom <= here.top + 1));
  const far = ({ box }) => Math.abs(box.top - here.top) * 1000 + Math.abs(box.left - here.left);
  return lines.sort((one, other) => far(one) - far(other))[0]?.link;
}
