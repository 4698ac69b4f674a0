"""A page of a rehearsal that runs, in a real browser: what somebody writes beside it stays."""

import pytest

PAGE = """<!doctype html><html lang="en"><head><title>x</title>
<script type="module" src="/static/js/controllers/look_again.js"></script></head><body><main>
<form><input id="reason" value=""><input type="checkbox" id="force"></form>{}</main>
</body></html>"""
RUNS = '<div id="rehearsal" data-look-again="{}">{} evaluations decided.</div>'


@pytest.fixture(params=["here"])
def page(request, tab, address, pages):
    pages["/runs"] = PAGE.format(RUNS.format(request.param, 0))
    tab.goto(f"{address}/runs")
    tab.locator("#reason").press_sequentially("kernel")
    tab.locator("#force").check()
    tab.locator("#reason").focus()
    return tab


def written(page):
    focused = page.evaluate("document.activeElement.id")
    return page.locator("#reason").input_value(), page.locator("#force").is_checked(), focused


def test_how_far_it_is_is_told_again_and_again_until_it_has_ended_in_its_place(page, pages):
    for count in (7, 9):
        pages["/runs"] = PAGE.format(RUNS.format("here", count))
        page.get_by_text(f"{count} evaluations decided.").wait_for()
        assert written(page) == ("kernel", True, "reason")
    pages["/runs"] = PAGE.format('<div id="rehearsal">All find a place.</div>')
    page.get_by_text("All find a place.").wait_for()
    assert written(page) == ("kernel", True, "reason")


@pytest.mark.parametrize("page", ["whole"], indirect=True)
@pytest.mark.parametrize("where", ["", ' id="rehearsal"'])
def test_where_the_page_looks_otherwise_in_the_end_it_has_what_was_written(page, pages, where):
    pages["/runs"] = PAGE.format(RUNS.format("whole", 7))
    page.get_by_text("7 evaluations decided.").wait_for()
    pages["/runs"] = PAGE.format(f"<h2>Now</h2><section{where}>Before and after</section>")
    page.get_by_text("Before and after").wait_for()
    assert written(page) == ("kernel", True, "reason")
    assert page.get_by_role("heading", name="Now").is_visible()
