// Ages that stay true: every <time data-relative> is rewritten each second, in the server's own wording.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function span(milliseconds) {
  if (milliseconds < 0) return `\u2212${span(-milliseconds)}`;
  if (milliseconds < 250) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.floor(milliseconds / 1000);
  const place = UNITS.findIndex(([size]) => seconds >= size);
  const [size, unit] = UNITS[place];
  const whole = Math.floor(seconds / size);
  const below = UNITS[place + 1];
  const part = below ? Math.floor((seconds % size) / below[0]) : 0;
  return part ? `${whole} ${unit} ${part} ${below[1]}` : `${whole} ${unit}`;
}

export function age(instant, now) {
  return instant <= now ? span(now - instant) : `in ${span(instant - now)}`;
}

export function refreshTimes(now = Date.now()) {
  for (const element of document.querySelectorAll("time[data-relative]")) {
    const text = age(Date.parse(element.dateTime), now);
    // Tenths of a second would flicker; a running age counts whole seconds.
    const calm = text.replace(/^(in )?(\d+)\.\d s$/, "$1$2 s");
    if (element.textContent !== calm) element.textContent = calm;
  }
}
