"""The tile of *Now* that the page fills itself: from the commit of a change to the frame drawn."""

import pytest
from django.template.loader import render_to_string

from tests.dashboard.static.test_browser import SOCKET, frame

TILE = """<ul><li data-screen><span data-screen-p95>-</span><svg><polyline data-screen-line
points=""/></svg>
<span data-screen-told>none</span></li></ul><p id="here">old</p>"""
#: Told in the page itself: what the test's own line costs must not count.
TELL = "([message, ago]) => window.tell({ ...message, at: Date.now() - ago + 5000 })"
SHOWN = "document.querySelector('[data-screen]').innerText.trim().split(/\\s+/).join(' ')"
DRAWN = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"""
PIECE = {"type": "html", "target": "here", "mode": "replace", "html": '<p id="here">new</p>'}


@pytest.fixture
def line(tab, address, pages):
    tab.add_init_script(SOCKET)
    html = render_to_string("base.html", {"live_topics": "nodes", "page_index": 7})
    pages["/tile"] = html.replace("</body>", f"{TILE}</body>")
    tab.goto(f"{address}/tile")
    tab.evaluate("""async () => {
      while (!window.sockets.length) await new Promise((done) => requestAnimationFrame(done));
    }""")
    return tab


def told(line, since, index, ago):
    """A frame with a change that was committed so many ms ago, by the server's clock."""
    line.evaluate(TELL, [frame(since, index, PIECE), ago])
    line.evaluate(DRAWN)
    return line.evaluate(SHOWN)


def beat(line, index):
    line.evaluate(TELL, [{"type": "beat", "index": index}, 0])


def test_what_was_committed_since_the_line_is_live_is_measured(line):
    assert told(line, 7, 8, 400) == "- none"
    beat(line, 8)
    line.wait_for_timeout(150)
    first = told(line, 8, 9, 100)
    value, _, text = first.partition(" ms ")
    assert 100 <= int(value) < 1_000
    assert text == "of 1 drawn here"
    # What time alone changed comes with an index that is known, an old commit was missed before.
    assert told(line, 8, 9, 90) == first
    assert told(line, 9, 10, 60_000) == first
    assert told(line, 10, 11, 20).endswith("of 2 drawn here")
    assert line.evaluate("document.querySelector('[data-screen-line]').getAttribute('points')")
