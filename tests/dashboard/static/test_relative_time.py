"""Spans of time in the browser: the same words as the server's."""

from tests.dashboard.test_wording import MS, SPANS

WRITTEN = """async (values) => {
  const { span } = await import("/static/js/controllers/relative_time.js");
  return values.map((value) => span(value));
}"""


def test_the_browser_writes_spans_like_the_server(tab, address, pages):
    pages["/spans"] = "<!doctype html><title>spans</title>"
    tab.goto(f"{address}/spans")
    told = tab.evaluate(WRITTEN, [case.values[0] // MS for case in SPANS])
    assert told == [case.values[1] for case in SPANS]
