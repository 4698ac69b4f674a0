"""What `bench pixel` believes a browser has drawn, looked at with a page that is known."""

import pytest

from cluster.bench.browser import WatchedPage
from cluster.runtime.clock import SystemClock

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

PAGE = """data:text/html,<p data-live-badge><span>live 3 ms</span></p>
<div id=rows><p data-key=old><b data-state=pending>x</b></p></div>"""
CHANGE = """() => {
  const rows = document.getElementById("rows");
  rows.querySelector("b").dataset.state = "complete";
  rows.insertAdjacentHTML("afterbegin", "<p data-key=new data-state=pending></p>");
}"""


#: Notes are taken in the animation frame after a change.
TWO_FRAMES = """() => new Promise(
  done => requestAnimationFrame(() => requestAnimationFrame(done)))"""


def test_what_changes_is_noted_once_with_its_moment_on_our_clock(browser):
    clock = SystemClock()
    page = browser.new_page()
    watched = WatchedPage(page)
    watched.open(PAGE, "#rows")
    before = clock.now() / 1e6
    page.evaluate(CHANGE)
    watched.wait_for("old", "complete")
    watched.wait_for("new", "pending")
    after = clock.now() / 1e6
    page.evaluate(CHANGE)
    page.evaluate(TWO_FRAMES)
    noted = page.evaluate("window.drawn.length")
    drawn = watched.drawn()
    doubt = watched.doubt_ms()
    page.close()
    assert noted == 2
    assert set(drawn) == {("old", "complete"), ("new", "pending")}
    assert all(before - doubt <= moment <= after + doubt for moment in drawn.values())
