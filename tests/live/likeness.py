"""What an open page shows, as lines that can be compared: with the record, or with a fresh page.

In: a page of Playwright. Out: one line per element that says something: its text, key, state,
path and address, below the nearest id. Places in drawings, whatever goes with the clock and the
inside of what a browser fetches by itself are left out.
"""

import time
from collections.abc import Mapping
from difflib import unified_diff

from playwright.sync_api import Page

from tests.live.world import LOOK_S, PATIENCE

_LINES = """async isFetched => {
  // Ages, the bars of a life that goes on, the figures and moves of the last minute, and what the
  // live line itself or a person's hand puts there.
  const CLOCK = "[data-clock], "
    + "time[data-relative], [data-live-index], svg.bars,"
    + "[data-graph=map] .graph-edges, [data-graph=map] .graph-labels,"
    // What a task uses, which is fetched and not of the record.
    + "[data-used-by], "
    + "[data-stale-banner], .pill, script, noscript, "
    // That a trouble is over is told for a while to those who saw it.
    + "[data-trouble][hidden], [data-trouble][data-state=complete]";
  const SAYING = ["data-key", "data-state", "data-path", "data-source", "data-target", "href",
    "aria-current", "data-quasi", "data-tombstone", "hidden"];
  const linesOf = (element, place) => {
    if (element.matches(CLOCK)) return [];
    if (element.matches("main [id]")) place = `#${element.id}`;
    // A browser fetches what is in it by itself; that it is there is the page's.
    if (element.matches("[data-usage], [data-logs], [data-fetched]"))
      return [`${place} ${element.localName}`];
    const said = SAYING.filter((name) => element.hasAttribute(name))
      .map((name) => `${name}=${element.getAttribute(name)}`);
    const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => node.data).join(" ").replace(/\\s+/g, " ").trim();
    // A script makes the heads of some tables buttons that sort.
    const name = element.matches("th > button") ? "th" : element.localName;
    const own = said.length || text ? [[place, name, ...said, text].join(" ")] : [];
    const below = [...element.children].flatMap((child) => linesOf(child, place));
    // A live drawing keeps what it has and adds the rest; nobody sees the order.
    return own.concat(element.matches("svg.graph") ? below.sort() : below);
  };
  let shown = document;
  if (isFetched) {
    const answer = await fetch(location.href);
    shown = new DOMParser().parseFromString(await answer.text(), "text/html");
  }
  return [...shown.querySelectorAll("nav[data-nav], main")].flatMap((part) => linesOf(part, ""));
}"""


def shown_by(page: Page) -> list[str]:
    """What it shows now."""
    return [*page.evaluate(_LINES, False)]


def served_to(page: Page) -> list[str]:
    """What the server would answer now under its address, before any script runs."""
    return [*page.evaluate(_LINES, True)]


def difference(fresh: list[str], kept: list[str]) -> list[str]:
    """The lines that only one of them has, or has elsewhere."""
    lines = unified_diff(fresh, kept, "as served", "as kept current", n=0, lineterm="")
    return [line for line in lines if not line.startswith("@@")]


def seconds_until_alike(pages: Mapping[str, Page], limit_s: float) -> float:
    """How long some page still differed from what the server answers; fails after the limit."""
    began = time.monotonic()
    took, left = 0.0, dict(pages)
    while left:
        found = {name: difference(served_to(page), shown_by(page)) for name, page in left.items()}
        left = {name: page for name, page in left.items() if found[name]}
        took = time.monotonic() - began
        told = "\n\n".join("\n".join([name, *found[name]]) for name in left)
        is_early = took < PATIENCE * limit_s
        assert not left or is_early, f"drifted, {took:.1f} s after all was quiet:\n{told}"
        time.sleep(LOOK_S if left else 0)
    return took


def seconds_until_one(kept: Page, fresh: Page, limit_s: float) -> float:
    """How long two live pages of one address still differed; fails after the limit."""
    began = time.monotonic()
    while found := difference(shown_by(fresh), shown_by(kept)):
        took = time.monotonic() - began
        told = "\n".join(found)
        assert took < PATIENCE * limit_s, f"{kept.url} drifted for {took:.1f} s:\n{told}"
        time.sleep(LOOK_S)
    return time.monotonic() - began


def states(page: Page, selector: str) -> list[tuple[str, str]]:
    """Key and state of each such element, in order; a row has its first badge's state."""
    find = """items => items.map((item) => [item.dataset.key, (item.matches("[data-state]") ? item
      : item.querySelector("[data-state]"))?.dataset.state ?? ""])"""
    return [(key, state) for key, state in page.locator(selector).evaluate_all(find)]


def texts(page: Page, selector: str, part: str) -> list[tuple[str, str]]:
    """Key (or state) of each such element and what its first `part` says."""
    find = """(items, part) => items.map((item) => [item.dataset.key ?? item.dataset.state,
      item.querySelector(part).textContent.trim()])"""
    return [(key, text) for key, text in page.locator(selector).evaluate_all(find, part)]


def attributes(page: Page, selector: str, *names: str) -> list[tuple[str, ...]]:
    """These attributes of each such element, in order; "" where one is missing."""
    find = "(items, names) => items.map((item) => names.map((n) => item.getAttribute(n) ?? ''))"
    return [tuple(found) for found in page.locator(selector).evaluate_all(find, list(names))]


def facts(page: Page) -> dict[str, str]:
    """The live figures of the page, by name."""
    find = "items => items.map((item) => [item.dataset.fact, item.textContent.trim()])"
    return dict(page.locator("[data-fact]").evaluate_all(find))
