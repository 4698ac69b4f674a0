"""Notifications of the browser by the real script: what is told once, and what is told again."""

import json

import pytest

#: Every page of this browser was allowed to show notifications; `shown` is what it showed.
_ALLOWED = """
localStorage.setItem("bivouac:notices", "on");
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "granted";
  constructor(title, options) { super(); window.shown.push([title, options.tag]); }
};
"""
PAGE = """<!doctype html><html lang="en"><head><title>x</title>
<script type="module" src="/static/js/main.js"></script></head><body><main></main></body></html>"""
LOOP = {"key": "crash-loop/default/web", "title": "Job fails", "text": "…", "path": "/"}
TOLD = ["Job fails", LOOP["key"]]
#: Between two looks of the script, s.
LOOK_S = 15
#: What comes back within this time is the same trouble still, s.
QUIET_S = 600


class Looks:
    """The browser's looks at the server: each finds what the test says."""

    def __init__(self, page):
        self.page = page
        self.found = []
        self.answered = 0
        page.route("**/notices", self._answer)

    def _answer(self, route):
        body = {"wants": True, "notices": self.found}
        route.fulfill(body=json.dumps(body), content_type="application/json")

    def look(self, found, seconds=LOOK_S):
        """Let time pass, a look at a time; what was shown until then."""
        self.found = found
        for _ in range(seconds // LOOK_S):
            with self.page.expect_response("**/notices") as answer:
                self.page.clock.run_for(LOOK_S * 1000)
            answer.value.finished()
            # The script has read the answer once it waits for its next look.
            self.page.wait_for_function("localStorage.getItem('bivouac:notices:told') !== null")
            self.page.evaluate("() => new Promise((done) => queueMicrotask(done))")
        return self.page.evaluate("window.shown")


@pytest.fixture
def looks(tab, address, pages):
    pages["/watched"] = PAGE
    tab.add_init_script(_ALLOWED)
    tab.clock.install()
    found = Looks(tab)
    with tab.expect_response("**/notices"):
        tab.goto(f"{address}/watched")
    yield found
    tab.evaluate("localStorage.clear()")


def test_a_crash_loop_that_pauses_between_its_starts_is_told_once(looks):
    assert looks.look([LOOP]) == [TOLD]
    for _ in range(4):
        assert looks.look([], seconds=120) == [TOLD]
        assert looks.look([LOOP], seconds=30) == [TOLD]


def test_ten_quiet_minutes_end_it_and_the_next_is_told_again(looks):
    assert looks.look([LOOP]) == [TOLD]
    # The look that first finds it gone begins the ten minutes.
    assert looks.look([], seconds=QUIET_S - LOOK_S) == [TOLD]
    assert looks.look([LOOP]) == [TOLD]
    assert looks.look([], seconds=QUIET_S) == [TOLD]
    assert looks.look([LOOP]) == [TOLD, TOLD]


def test_what_was_told_is_told_by_no_later_page(looks, tab):
    assert looks.look([LOOP]) == [TOLD]
    with tab.expect_response("**/notices"):
        tab.reload()
    assert looks.look([LOOP]) == []
