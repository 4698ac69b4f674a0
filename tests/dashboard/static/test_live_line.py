"""A live line on which something goes wrong: how soon a page tries again, and what it says."""

import pytest
from django.template.loader import render_to_string

from tests.dashboard.static.test_browser import SOCKET, frame

#: Faults are told to whoever looks after the page; here they are kept. Time runs as it is told.
KEPT = """window.reported = [];
window.reportError = (fault) => window.reported.push(String(fault));
window.later = new Map();
let number = 0;
window.setTimeout = (work, delay) => {
  window.later.set(++number, { work, delay });
  return number;
};
window.clearTimeout = (which) => window.later.delete(which);
"""
#: The wait for the next try, which then begins. Silence and a line that held take longer.
TRY_AGAIN = """() => {
  const tries = [...window.later].filter(([, it]) => /open/.test(it.work));
  const [which, { work, delay }] = tries.at(-1);
  window.later.delete(which);
  work();
  return delay;
}"""
HELD = """() => [...window.later.values()].find((it) => it.delay === 15000).work()"""
BADGE = "document.querySelector('[data-live-badge]').innerText"
UNKNOWN = frame(7, 8, topic="nobody:asked")
TELL = "(message) => window.tell(message)"


@pytest.fixture
def opened(tab, address, pages):
    tab.add_init_script(SOCKET)

    def opened(topics="nodes", beside="", **context):
        context = {"live_topics": topics, "page_index": 7, **context}
        html = render_to_string("base.html", context)
        pages["/line"] = html.replace("</body>", f"{beside}</body>")
        tab.goto(f"{address}/line")
        until_opened(tab)
        return tab

    return opened


def until_opened(tab):
    tab.evaluate("""async () => {
      while (!window.sockets.length) await new Promise((done) => requestAnimationFrame(done));
    }""")


@pytest.fixture
def line(tab, opened):
    tab.add_init_script(KEPT)
    return opened()


def test_a_frame_that_makes_no_sense_is_not_answered_with_a_storm(line):
    waits = []
    for count in range(1, 12):
        line.evaluate(TELL, UNKNOWN)
        assert line.evaluate("window.sockets.length") == count
        assert line.evaluate(BADGE).startswith("offline, showing")
        waits.append(line.evaluate(TRY_AGAIN))
        assert line.evaluate(BADGE).startswith("connecting, showing")
    usual = [min(250 * 1.7**count, 10_000) for count in range(11)]
    assert all(0.75 <= wait / about <= 1.25 for wait, about in zip(waits, usual, strict=True))


def test_a_line_that_held_for_a_while_is_tried_soon_again(line):
    for _ in range(6):
        line.evaluate(TELL, UNKNOWN)
        line.evaluate(TRY_AGAIN)
    line.evaluate(TELL, frame(7, 8))
    line.evaluate(HELD)
    line.evaluate(TELL, UNKNOWN)
    assert line.evaluate(TRY_AGAIN) < 320


def test_what_cannot_be_read_breaks_the_line_and_is_reported(line):
    line.evaluate("window.sockets[0].onmessage({ data: '{' })")
    assert "SyntaxError" in line.evaluate("window.reported[0]")
    assert line.evaluate(BADGE).startswith("offline, showing")
    assert line.evaluate(TRY_AGAIN) < 320


def test_a_piece_that_fails_keeps_no_other_back_and_the_page_is_loaded_again(tab, opened):
    tab.add_init_script("window.reportError = (fault) => sessionStorage.fault = String(fault)")
    line = opened()
    line.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<b data-fact=\"count\">1</b>');"
        "window.untouched = true;"
        "addEventListener('pagehide', () => (sessionStorage.count ="
        " document.querySelector('[data-fact]').textContent))"
    )
    facts = {"kind": "facts", "values": {"count": "2"}}
    with line.expect_navigation():
        line.evaluate(TELL, frame(7, 8, {"kind": "facts"}, facts))
    assert "TypeError" in line.evaluate("sessionStorage.fault")
    assert line.evaluate("sessionStorage.count") == "2"
    assert line.evaluate("window.untouched") is None


def test_loading_again_and_again_takes_longer_each_time(line):
    reload = {"type": "reload", "reason": "a change could not be shown", "index": 8}
    line.evaluate("document.body.dataset.posted = ''")
    line.evaluate(TELL, reload)
    waits = []
    for _ in range(3):
        line.evaluate(TELL, reload)
        assert line.evaluate(BADGE).startswith("offline, showing")
        waits.append(line.evaluate(TRY_AGAIN))
    assert all(
        0.75 <= wait / about <= 1.25
        for wait, about in zip(waits, (10_000, 20_000, 40_000), strict=True)
    )


def test_a_page_of_which_nothing_may_be_followed_says_so_and_does_not_knock(line):
    line.evaluate(TELL, {"type": "refused", "topic": "nodes", "reason": "nodes needs node:read"})
    assert line.evaluate(BADGE).startswith("not live")
    told = line.locator("[data-stale-retry]").text_content()
    assert told == "The server does not keep this page current: load it again."
    assert not line.evaluate("[...window.later.values()].some((it) => /open/.test(it.work))")


def test_a_page_without_topics_of_its_own_never_says_that_it_connects(tab, opened):
    counts = {"jobs": "1"}
    line = opened("", nav_counts=counts, nav_topic="navigation:*")
    assert line.evaluate(BADGE).startswith("as loaded")
    line.evaluate(TELL, frame(7, 8, topic="navigation:*"))
    assert line.evaluate(BADGE).startswith("menu live")


def test_a_behaviour_that_fails_does_not_keep_a_page_from_its_live_line(tab, opened):
    tab.add_init_script("window.reportError = (fault) => (window.reported = String(fault));")
    line = opened(beside='<form data-replay data-stops="?"><input type="range"></form>')
    assert "SyntaxError" in line.evaluate("window.reported")
    line.evaluate(TELL, frame(7, 8))
    assert line.evaluate(BADGE).startswith("live")
