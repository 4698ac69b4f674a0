"""Buttons while nothing can be changed, in a real browser."""

import pytest

PAGE = """<!doctype html><html lang="en"><head><title>x</title>
<script type="module" src="/static/js/main.js"></script></head><body>
<div data-trouble data-stops><svg><use></use></svg>
<strong data-trouble-strong>Nothing can be changed</strong><span data-trouble-text></span></div>
<main>
  <form method="post" action="/changed"><input id="typed" value="kept"><button type="submit"
    title="Run it">Run</button></form>
  <button type="button" data-confirm="stop">Stop</button>
  <button type="button" aria-disabled="true" title="needs node:write">Drain</button>
  <form action="/found"><button type="submit">Find</button></form>
  <div id="live"></div>
</main>
<dialog id="stop"><form method="post" action="/changed"><button type="submit">Yes</button></form>
</dialog>
</body></html>"""
SWITCH = (
    "import('/static/js/controllers/standstill.js').then((module) => module.setStandstill({}))"
)


@pytest.fixture
def page(tab, address, pages):
    pages["/standing"] = PAGE
    pages["/found?"] = "<title>found</title>"
    tab.goto(f"{address}/standing")
    tab.wait_for_load_state("networkidle")
    return tab


def state_of(page, name):
    button = page.get_by_role("button", name=name)
    return button.get_attribute("aria-disabled"), button.get_attribute("title")


WHY = "Nothing can be changed now: see the notice at the top of the page"


def test_what_would_change_something_is_greyed_says_why_and_does_nothing(page, address):
    assert state_of(page, "Run") == ("true", WHY)
    assert state_of(page, "Stop") == ("true", WHY)
    assert state_of(page, "Drain") == ("true", "needs node:write")
    page.get_by_role("button", name="Run").click(force=True)
    page.locator("#typed").press("Enter")
    page.get_by_role("button", name="Stop").click(force=True)
    assert page.url == f"{address}/standing"
    assert not page.locator("#stop").is_visible()
    assert page.locator("#typed").input_value() == "kept"


def test_what_only_looks_goes_on(page):
    assert state_of(page, "Find") == (None, None)
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**/found?")


def test_buttons_of_live_changes_are_greyed_as_well(page):
    page.evaluate(
        """() => {
          const place = document.getElementById("live");
          place.innerHTML = '<button type="button" data-confirm="stop">Restart</button>';
          place.dispatchEvent(new CustomEvent("live:swapped", { bubbles: true }));
        }"""
    )
    assert state_of(page, "Restart") == ("true", WHY)


def test_once_it_is_over_everything_works_as_before(page):
    page.evaluate(SWITCH.format("false"))
    assert state_of(page, "Run") == (None, "Run it")
    assert state_of(page, "Drain") == ("true", "needs node:write")
    page.get_by_role("button", name="Stop").click()
    assert page.locator("#stop").is_visible()
