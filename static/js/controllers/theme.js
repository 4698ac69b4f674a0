// Theme: system, light or dark. A plain script in the head, so that the first paint has the right colours.
(() => {
  const root = document.documentElement;
  const choices = ["system", "light", "dark"];

  const stored = () => {
    try {
      const choice = localStorage.getItem("theme");
      return choices.includes(choice) ? choice : "system";
    } catch {
      return "system";
    }
  };

  const show = (choice) => {
    if (choice === "system") delete root.dataset.theme;
    else root.dataset.theme = choice;
    for (const button of document.querySelectorAll('[data-controller="theme"]')) {
      button.setAttribute("aria-label", `Theme: ${choice}`);
      button.title = `Theme: ${choice}`;
    }
  };

  show(stored());
  document.addEventListener("DOMContentLoaded", () => show(stored()));
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.('[data-controller="theme"]')) return;
    const next = choices[(choices.indexOf(stored()) + 1) % choices.length];
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Private windows may refuse; the choice then lasts for this page.
    }
    show(next);
  });
})();
