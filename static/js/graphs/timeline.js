// Bars over time while the last stretch is still open: the axis follows the clock between two frames.

export function growBars(now = Date.now()) {
  for (const table of document.querySelectorAll("table.steps")) {
    const rows = [...table.querySelectorAll("tr[data-at]")];
    if (rows.some((row) => row.dataset.took === "")) stretch(rows, now);
  }
}

function stretch(rows, now) {
  for (const [row, { x, width }] of layout(rows, now)) {
    const bar = row.querySelector("rect.bar");
    bar?.setAttribute("x", `${x.toFixed(2)}%`);
    bar?.setAttribute("width", `${width.toFixed(2)}%`);
  }
}

// The same rule as life_bars on the server: one axis from the first row to now, no bar under 0.4 %.
export function layout(rows, now) {
  const start = Number(rows[0].dataset.at);
  const ends = rows.map((row) => (row.dataset.took === "" ? now : Number(row.dataset.at) + Number(row.dataset.took)));
  const whole = Math.max(Math.max(...ends, now) - start, 1);
  return rows.map((row, place) => {
    const at = Number(row.dataset.at);
    const width = Math.max((100 * (ends[place] - at)) / whole, 0.4);
    return [row, { x: Math.max(Math.min((100 * (at - start)) / whole, 100 - width), 0), width }];
  });
}
