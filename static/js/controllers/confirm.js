// Dialogs before anything that stops work: a button names its dialog; a typed name opens the red button.
// A button that live frames exchange says by data-fill-<name> what stands at [data-filled="<name>"] of its dialog.

// The button that a typed name opens; a rehearsal needs none.
const DOES_IT = 'button[type="submit"]:not([name="rehearse"])';

export function attachConfirm() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.("[data-confirm]");
    const dialog = opener && document.getElementById(opener.dataset.confirm);
    // A link that asks first leads on where its dialog is not on the page.
    if (dialog) event.preventDefault();
    if (opener) return open(dialog, opener);
    const closer = event.target.closest?.('[data-action="close"]');
    closer?.closest("dialog")?.close();
  });
  document.addEventListener("input", (event) => {
    const dialog = event.target.closest?.("dialog[data-typed]");
    if (!dialog) return;
    const submit = dialog.querySelector(DOES_IT);
    submit.disabled = event.target.value.trim() !== dialog.dataset.typed;
  });
  // A second click while the first is on its way must not do it twice.
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.sent) return event.preventDefault();
    if (event.target.method === "post") event.target.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });
}

function open(dialog, opener) {
  if (!dialog || dialog.open) return;
  for (const place of dialog.querySelectorAll("[data-filled]")) {
    const value = opener.getAttribute(`data-fill-${place.dataset.filled}`) ?? "";
    if (place.matches("input, select")) place.value = value;
    else place.textContent = value;
  }
  // What is offered only with a value is as it was at the start.
  for (const offer of dialog.querySelectorAll("[data-filled-with]")) {
    offer.hidden = !opener.getAttribute(`data-fill-${offer.dataset.filledWith}`);
    for (const box of offer.querySelectorAll("input")) box.checked = false;
  }
  const field = dialog.querySelector("[id$='-typed']");
  if (field) {
    field.value = "";
    dialog.querySelector(DOES_IT).disabled = true;
  }
  dialog.showModal();
}
