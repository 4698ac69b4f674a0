// Menus that are <details>: a click elsewhere or Escape closes them.

export function attachMenus() {
  document.addEventListener("click", (event) => close((menu) => !menu.contains(event.target)));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close(() => true);
  });
}

function close(which) {
  for (const menu of document.querySelectorAll("details:is(.menu, .facet)[open]")) {
    if (!which(menu)) continue;
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
}
