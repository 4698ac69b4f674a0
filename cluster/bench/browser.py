"""A real browser, and moments of what it has drawn on the clock of this process.

In: an address to sign in at. Out: pages whose script notes which marked elements changed and when
the frame that shows them was over. Playwright is no dependency of the product: it is asked for
when a browser is.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from cluster.bench.target import NotSettled
from cluster.runtime.clock import SystemClock

_CLOCK = SystemClock()
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_WIDTH, _HEIGHT = 1440, 900
_TRIES = 30
#: Notes each `[data-key] [data-state]` the first time it is seen. The change itself happens in one
#: animation frame; when the next one begins, the frame with the change has been drawn.
_WATCH = """holder => {
  window.drawn = [];
  const seen = new Set();
  const fresh = () => {
    const found = [];
    for (const item of holder.querySelectorAll("[data-key]")) {
      const state = (item.matches("[data-state]") ? item : item.querySelector("[data-state]"))
        ?.dataset.state;
      const name = `${item.dataset.key} ${state}`;
      if (state && !seen.has(name)) {
        seen.add(name);
        found.push(name);
      }
    }
    return found;
  };
  fresh();
  new MutationObserver(() => {
    const found = fresh();
    if (!found.length) return;
    requestAnimationFrame(() => {
      const now = performance.timeOrigin + performance.now();
      for (const name of found) window.drawn.push([name, now]);
    });
  }).observe(holder, { subtree: true, childList: true, attributes: true,
    attributeFilter: ["data-state"] });
}"""
_NOW = "() => performance.timeOrigin + performance.now()"


class BrowserMissing(Exception):
    """There is no browser to measure with; the message says what to install."""


class Offset(NamedTuple):
    """What a page's clock shows more than ours, in ms, give or take `doubt`."""

    ms: float
    doubt: float


class WatchedPage:
    """One page in which what is drawn is noted."""

    def __init__(self, page: Any) -> None:
        """`page` is Playwright's."""
        self.page = page
        self._before = Offset(0.0, 0.0)

    def open(self, path: str, holder: str) -> None:
        """Open a page, wait until it is live, then watch the marked elements below `holder`."""
        self.page.goto(path)
        self.page.locator("[data-live-badge] >> text=/^live/").wait_for()
        self.page.locator(holder).first.evaluate(_WATCH)
        self._before = self._offset()

    def drawn(self) -> dict[tuple[str, str], float]:
        """Key and state to the moment it was drawn, ms since the epoch on our clock."""
        noted: list[tuple[str, float]] = self.page.evaluate("window.drawn")
        found = {}
        for name, moment in noted:
            key, _, state = name.rpartition(" ")
            found[key, state] = moment - self._before.ms
        return found

    def wait_for(self, key: str, state: str) -> None:
        """Wait until this was drawn."""
        known = "name => window.drawn.some(([other]) => other === name)"
        self.page.wait_for_function(known, arg=f"{key} {state}")

    def doubt_ms(self) -> float:
        """By how much our clock and the page's may have been compared wrongly, drift included."""
        after = self._offset()
        return max(self._before.doubt, after.doubt) + abs(after.ms - self._before.ms)

    def _offset(self) -> Offset:
        """The page is asked between two looks at our clock; the fastest answer counts."""
        best = Offset(0.0, float("inf"))
        for _ in range(_TRIES):
            before = _CLOCK.now()
            there: float = self.page.evaluate(_NOW)
            after = _CLOCK.now()
            doubt = (after - before) / 2e6
            if doubt < best.doubt:
                best = Offset(there - (after + before) / 2e6, doubt)
        return best


@contextmanager
def signed_in(address: str, login_link: str) -> Iterator[Any]:
    """Playwright's context of somebody who is signed in.

    Raises BrowserMissing, and NotSettled for what a page has not come to in time.
    """
    try:
        from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 - development only
    except ImportError:
        raise BrowserMissing(
            "this scenario drives a browser through Playwright, a development dependency:"
            " `make setup-dev` installs it, or `pip install playwright`"
        ) from None
    chromium = next(filter(None, map(shutil.which, _NAMES)), None)
    if chromium is None:
        raise BrowserMissing(f"no browser on the PATH: install one of {', '.join(_NAMES)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*_ARGUMENTS])
        context = browser.new_context(
            base_url=address, viewport={"width": _WIDTH, "height": _HEIGHT}
        )
        try:
            # The page it leads to is live too, and would be drawn beside the measured one.
            login = context.new_page()
            login.goto(login_link)
            login.close()
            yield context
        except Error as error:
            raise NotSettled(f"the browser did not get to it: {error.message}") from None
        finally:
            browser.close()
