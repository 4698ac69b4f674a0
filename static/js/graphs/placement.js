// The score table: its columns sort, as a view only; the record's order comes back with the last click.

export function attachPlacement(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  let sorted = { column: -1, direction: "none" };
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    if (!head.matches(".number")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      sorted = { column, direction: nextDirection(sorted, column) };
      for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
      if (sorted.direction !== "none") head.setAttribute("aria-sort", sorted.direction);
      body.append(...order(original, sorted));
    });
  }
}

function nextDirection(sorted, column) {
  if (sorted.column !== column) return "descending";
  return { descending: "ascending", ascending: "none", none: "descending" }[sorted.direction];
}

export function order(rows, { column, direction }) {
  if (direction === "none") return rows;
  const value = (row) => {
    const text = row.cells[column].textContent.trim().replace("\u2212", "-").replace(/\s/g, "");
    const number = Number(text);
    return text === "" || Number.isNaN(number) ? -Infinity : number;
  };
  const factor = direction === "ascending" ? 1 : -1;
  return [...rows].sort((a, b) => factor * (value(a) - value(b)));
}
