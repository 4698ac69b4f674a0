// Attaches each behaviour to the elements that name it, now and after every live change.

import { attachConfirm } from "./controllers/confirm.js";
import { attachCopy } from "./controllers/copy.js";
import { attachFilter, attachFilterForm } from "./controllers/filter.js";
import { attachKeyboard } from "./controllers/keyboard.js";
import { attachFetched } from "./controllers/fetched.js";
import "./controllers/look_again.js";
import { attachLogs } from "./controllers/logs.js";
import { attachMenus } from "./controllers/menu.js";
import { attachNewer } from "./controllers/newer.js";
import { attachNotices, watchNotices } from "./controllers/notices.js";
import { attachRacks } from "./controllers/racks.js";
import { attachReplay } from "./controllers/replay.js";
import { attachScale } from "./controllers/scale.js";
import { attachUsage } from "./controllers/usage.js";
import { refreshTimes } from "./controllers/relative_time.js";
import { attachSuggest } from "./controllers/suggest.js";
import { attachSearch } from "./controllers/search.js";
import { attachStandstill } from "./controllers/standstill.js";
import { attachChain } from "./graphs/chain.js";
import { attachLifecycle } from "./graphs/lifecycle.js";
import { attachGraph } from "./graphs/navigate.js";
import { attachPlacement } from "./graphs/placement.js";
import { growBars } from "./graphs/timeline.js";
import { startLive } from "./live/page.js";

const ATTACH = [
  ["[data-graph]", attachGraph],
  ['[data-graph^="life-"]', attachLifecycle],
  ['[data-graph^="chain-"]', attachChain],
  ["table[data-scores]", attachPlacement],
  ["[data-filter]", attachFilter],
  ["form[data-filter-form]", attachFilterForm],
  ["[data-logs]", attachLogs],
  ["[data-fetched]", attachFetched],
  ["[data-newer]", attachNewer],
  ["[data-notices]", attachNotices],
  ["[data-racks]", attachRacks],
  ["[data-replay]", attachReplay],
  ["[data-scale]", attachScale],
  ["[data-usage]", attachUsage],
  ["[data-suggest]", attachSuggest],
  ["[data-search]", attachSearch],
];
const attached = new WeakMap();

function attachWithin(root) {
  for (const [selector, attach] of ATTACH) {
    const found = [...root.querySelectorAll(selector)];
    if (root.matches?.(selector)) found.push(root);
    for (const element of found) {
      const done = attached.get(element) ?? new Set();
      if (done.has(attach)) continue;
      attached.set(element, done.add(attach));
      try {
        attach(element);
      } catch (fault) {
        // One behaviour that fails does not keep the page from its live line.
        reportError(fault);
      }
    }
  }
}

attachWithin(document.documentElement);
document.addEventListener("live:swapped", (event) => attachWithin(event.target));
attachCopy();
attachStandstill();
attachConfirm();
attachMenus();
watchNotices();
const live = startLive();
document.addEventListener("replay:past", () => live?.pause());
attachKeyboard(live);
refreshTimes();
setInterval(() => {
  refreshTimes();
  growBars();
}, 1000);
if (document.querySelector("[data-terminal]")) import("./controllers/terminal.js").then((module) => module.attachTerminal());
if (document.querySelector("[data-editor]")) import("./controllers/editor.js").then((module) => module.attachEditors());
