"""Rows of a list that is open: the server says their order, and sends those that changed."""

import json

import pytest
from playwright.sync_api import expect

APPLY = """async (pieces) => {
  const { applyPieces } = await import("/static/js/live/swap.js");
  applyPieces(pieces);
  return [...document.querySelectorAll("tr")].map((row) => row.textContent);
}"""


def row(key, text=""):
    return f'<tr id="jobs-{key}" data-key="{key}"><td><a href="/{key}">{text or key}</a></td></tr>'


def page(rows, told="two"):
    return (
        "<!doctype html><html lang=en><head><title>x</title></head><body>"
        f"<p id=list-told>{told}</p>"
        f"<table><tbody id=jobs>{''.join(rows)}</tbody></table></body></html>"
    )


def order(*keys, empty="", **changed):
    html = {f"jobs-{key}": row(key, text) for key, text in changed.items()}
    ids = [f"jobs-{key}" for key in keys]
    return {"kind": "rows", "target": "jobs", "order": ids, "html": html, "empty": empty}


@pytest.fixture
def opened(tab, address, pages):
    """A page with one list; `follow` applies pieces and tells what its rows say then."""

    def opened(*rows):
        pages["/list"] = page(rows)
        tab.goto(f"{address}/list")
        return lambda *pieces: tab.evaluate(APPLY, json.loads(json.dumps(pieces)))

    return opened


def test_rows_come_change_go_and_stand_in_the_order_that_is_told(opened):
    follow = opened(row("api"), row("web"))
    assert follow(order("api", "db", "web", db="new")) == ["api", "new", "web"]
    assert follow(order("web", "db", api="gone")) == ["web", "new"]
    assert follow(order("db", "web", web="changed")) == ["new", "changed"]


def test_a_list_may_become_empty_and_fill_again(opened):
    follow = opened(row("api"))
    assert follow(order(empty="<tr data-empty-row><td>none</td></tr>")) == ["none"]
    assert follow(order("api", api="back")) == ["back"]


def test_who_moves_along_a_list_stays_on_the_row_that_moves(opened, tab):
    follow = opened(row("api"), row("web"))
    tab.locator("#jobs-web a").focus()
    follow(order("web", "api"))
    assert tab.evaluate("document.activeElement.textContent") == "web"
    follow(order("api", "web", web="changed"))
    assert tab.evaluate("document.activeElement.textContent") == "changed"


def test_a_full_list_goes_on_with_the_row_that_left_it(opened, tab):
    follow = opened(row("api"))
    foot = '<div id="list-foot"{}><a rel="next" href="/list?after=api">Next page</a></div>'
    tab.evaluate(
        "(html) => document.body.insertAdjacentHTML('beforeend', html)", foot.format(" hidden")
    )
    around = {"kind": "html", "target": "list-foot", "html": foot.format("")}
    assert follow(order("web", web="web"), around) == ["web"]
    tab.get_by_role("link", name="Next page").wait_for()
    # Who comes back to the whole of it finds the row where it was.
    assert follow(order("api", api="api")) == ["api"]


def test_a_row_that_never_came_is_fetched_with_the_whole_list(opened, tab, pages):
    follow = opened(row("api"))
    pages["/list"] = page([row("web"), row("api")], told="from the server")
    follow(order("web", "api"))
    # Not by an expression: the page lets nobody evaluate texts.
    expect(tab.locator("tr")).to_have_count(2)
    assert tab.locator("#list-told").text_content() == "from the server"
    assert follow(order("web", "api")) == ["web", "api"]


def test_what_is_for_browsers_without_scripts_does_not_come_by_the_live_line(opened, tab):
    follow = opened(row("api"))
    form = '<tr id="jobs-api"><td><form><noscript><button>no</button></noscript></form></td></tr>'
    follow({"kind": "html", "target": "jobs-api", "html": form})
    assert tab.locator("form").count() == 1
    assert tab.locator("form button").count() == 0
