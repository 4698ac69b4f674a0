// The lifecycle graph and the Steps table are one thing seen twice: pointing at a state marks its rows.

export function attachLifecycle(holder) {
  const mark = (node, isOn) => {
    if (!node) return;
    for (const row of document.querySelectorAll("#steps tbody tr")) {
      const state = row.querySelector("[data-state]")?.dataset.state;
      if (state === node.dataset.key) row.toggleAttribute("data-marked", isOn);
    }
  };
  const nodeOf = (event) => event.target.closest?.(".graph-node");
  for (const [name, isOn] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    holder.addEventListener(name, (event) => mark(nodeOf(event), isOn));
  }
}
