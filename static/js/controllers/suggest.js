// Suggestions for the expression of a list: fields, then operators, then values, as one types.

const MOST = 12;
const WORD = /[^\s()=!]*$/;
const JOINS = ["and", "or"];

export function attachSuggest(field) {
  const script = document.getElementById(field.dataset.suggest);
  const box = document.getElementById(field.getAttribute("aria-controls"));
  if (!script || !box) return;
  const words = JSON.parse(script.textContent);
  let found = [];
  let chosen = -1;

  const choose = (place) => {
    chosen = found.length ? (place + found.length) % found.length : -1;
    for (const [index, option] of [...box.children].entries()) {
      option.setAttribute("aria-selected", String(index === chosen));
      if (index === chosen) option.scrollIntoView({ block: "nearest" });
    }
    if (chosen < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", box.children[chosen].id);
  };
  const hide = () => {
    box.hidden = true;
    found = [];
    field.setAttribute("aria-expanded", "false");
    choose(-1);
  };
  const show = () => {
    found = suggested(field.value.slice(0, field.selectionStart ?? field.value.length), words);
    if (!found.length) return hide();
    box.replaceChildren(...found.map((each, place) => option(each, place)));
    box.hidden = false;
    field.setAttribute("aria-expanded", "true");
    chosen = -1;
    field.removeAttribute("aria-activedescendant");
  };
  const take = (place) => {
    const end = field.selectionStart ?? field.value.length;
    const [before, after] = [field.value.slice(0, end), field.value.slice(end)];
    const { text, replaces } = found[place];
    const start = before.slice(0, before.length - replaces);
    field.value = `${start}${text} ${after.trimStart()}`;
    field.setSelectionRange(start.length + text.length + 1, start.length + text.length + 1);
    field.focus();
    show();
  };

  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  field.addEventListener("blur", () => setTimeout(hide, 150));
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && box.hidden) show();
    if (step && found.length) {
      event.preventDefault();
      choose(chosen < 0 && step < 0 ? -1 : chosen + step);
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Escape" && !box.hidden) {
      event.preventDefault();
      event.stopPropagation();
      hide();
    }
  });
  // Before the field loses its focus.
  box.addEventListener("pointerdown", (event) => {
    const place = [...box.children].indexOf(event.target.closest("[role=option]"));
    if (place < 0) return;
    event.preventDefault();
    take(place);
  });
}

// What may come where the text before the cursor ends: {text, note, replaces}.
export function suggested(before, { fields, operators }) {
  const begun = WORD.exec(before)[0];
  const done = before.slice(0, before.length - begun.length).trimEnd();
  const clause = done.split(/\b(?:and|or)\b|[()]/).pop().trim();
  const name = Object.keys(fields).find((each) => clause === each || clause.startsWith(`${each} `));
  const ours = (texts, note, replaces = begun) =>
    texts
      .filter((text) => text.toLowerCase().includes(replaces.replace(/^"/, "").toLowerCase()) && text !== replaces)
      .sort((one, other) => starts(other, replaces) - starts(one, replaces))
      .slice(0, MOST)
      .map((text) => ({ text, note, replaces: replaces.length }));
  if (!clause || clause === "not") return ours(Object.keys(fields), "field");
  if (!name) return [];
  const [kind, ...values] = fields[name];
  const rest = clause.slice(name.length).trim();
  const operator = operators[kind].find((each) => rest === each);
  if (!operator) {
    const typed = before.slice(before.lastIndexOf(name) + name.length).trimStart();
    const isDone = operators[kind].some((each) => rest.startsWith(`${each} `)) || /^is (not )?(empty|nil)$/.test(rest);
    return isDone ? ours(JOINS, "joins") : ours(operators[kind], "operator", typed);
  }
  if (operator.startsWith("is ")) return ours(JOINS, "joins");
  const quoted = kind === "text" || kind === "many" ? values.map((value) => JSON.stringify(value)) : values;
  return ours(quoted, "value");
}

function starts(text, begun) {
  return Number(text.toLowerCase().startsWith(begun.toLowerCase()));
}

function option({ text, note }, place) {
  const item = document.createElement("li");
  item.id = `suggestion-${place}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  const told = document.createElement("span");
  told.className = "quiet";
  told.textContent = note;
  item.append(text, told);
  return item;
}
