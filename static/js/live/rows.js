// Where a row stands in a live list, and whether it belongs there at all.
//
// A list says its order in [data-order]: names of the rows' data attributes, the smallest first. Of one with "-"
// before it the largest is first, as a number and then as a text. Without it new rows go on top.
// [data-match-<name>] must equal the row's data-<name>; [data-match-prefix] is the beginning of its key or name.

export function belongs(list, row) {
  return wishes(list).every(([name, wanted]) => {
    if (name !== "prefix") return row.dataset[name] === wanted;
    return [row.dataset.key, row.dataset.name].some((text) => text?.startsWith(wanted));
  });
}

export function isFiltered(list) {
  return wishes(list).length > 0;
}

// Puts a row into its place; false where that is on another page.
export function put(list, row) {
  const order = list.dataset.order?.split(" ");
  if (!order) {
    list.prepend(row);
    return true;
  }
  const next = [...list.children].find((other) => other.dataset.key && compare(row, other, order) < 0);
  if (!next && olderLink(list)?.parentElement.hidden === false) return false;
  list.insertBefore(row, next ?? null);
  return true;
}

export function olderLink(list) {
  return document.querySelector(`[data-older="${CSS.escape(list.id)}"]`);
}

// The list whose rows have ids such as this one.
export function listOf(target) {
  return [...document.querySelectorAll("[data-order]")].find((list) => target.startsWith(`${list.id}-`));
}

function wishes(list) {
  return Object.entries(list.dataset)
    .filter(([name]) => /^match[A-Z]/.test(name))
    .map(([name, wanted]) => [name.slice(5).toLowerCase(), wanted]);
}

function compare(row, other, order) {
  for (const field of order) {
    const isDown = field.startsWith("-");
    const [mine, theirs] = [row, other].map((each) => each.dataset[isDown ? field.slice(1) : field] ?? "");
    const difference = (isDown && Number.parseInt(mine, 10) - Number.parseInt(theirs, 10)) || ordinal(mine, theirs);
    if (difference) return isDown ? -difference : difference;
  }
  return 0;
}

function ordinal(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
