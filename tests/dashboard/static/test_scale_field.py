"""The number of instances in a form: stepped within bounds, told on its button, rehearsed."""

import pytest
from playwright.sync_api import expect

FIELD = """<div id="field" class="field" data-scale>
  <button type="button" data-step="-1">-</button>
  <input id="scale-1" form="f" name="count.web" value="2" data-least="1" data-most="4">
  <button type="button" data-step="1">+</button>
  <div class="scale-found" id="rehearsed-web" role="status"></div>
  <button type="submit" form="f" name="group" value="web"
   data-scale-to="Scale web to {count}">Scale web</button>
  <button type="submit" form="f" name="rehearse" value="web">Rehearse</button></div>"""
PAGE = (
    "<!doctype html><html lang=en><head><title>x</title></head><body>"
    f'<form id="f" method="post" action="/scale"></form>{FIELD}</body></html>'
)
ATTACH = """async () => {
  const { attachScale } = await import("/static/js/controllers/scale.js");
  window.attach = () => attachScale(document.getElementById("field"));
  window.attach();
}"""
#: The server: it is asked twice until the rehearsal has ended.
SERVER = """() => {
  window.asked = [];
  window.fetch = async (address, means) => {
    window.asked.push([address, means.method ?? "GET", [...(means.body ?? [])]]);
    const look = window.asked.length < 2 ? ' data-look="/looked"' : "";
    const told = look ? "being rehearsed" : "All 3 find one.";
    const html = `<div class="scale-found" id="rehearsed-web" role="status"${look}>${told}</div>`;
    return { ok: true, text: async () => html };
  };
}"""


@pytest.fixture
def field(tab, address, pages):
    pages["/field"] = PAGE
    tab.goto(f"{address}/field")
    tab.evaluate(SERVER)
    tab.evaluate(ATTACH)
    return tab


def told(field):
    return field.locator('[name="group"]').inner_text()


def test_steps_stay_within_the_bounds_and_are_told_on_the_button(field):
    assert told(field) == "Scale web"
    for _ in range(4):
        field.get_by_role("button", name="+").click()
    assert (field.input_value("#scale-1"), told(field)) == ("4", "Scale web to 4")
    for _ in range(4):
        field.get_by_role("button", name="-").click()
    assert (field.input_value("#scale-1"), told(field)) == ("1", "Scale web to 1")
    field.fill("#scale-1", "2")
    assert told(field) == "Scale web"
    field.fill("#scale-1", "many")
    assert told(field) == "Scale web"


def test_a_rehearsal_is_told_beside_the_number_until_the_number_changes(field):
    field.fill("#scale-1", "3")
    field.get_by_role("button", name="Rehearse").click()
    found = field.locator("#rehearsed-web")
    expect(found).to_have_text("All 3 find one.")
    assert field.evaluate("window.asked") == [
        ["/scale", "POST", [["count.web", "3"], ["rehearse", "web"], ["part", "1"]]],
        ["/looked", "GET", []],
    ]
    # A live frame brings the panel anew; what was found is that of the number still.
    field.evaluate("html => { document.getElementById('field').outerHTML = html; }", FIELD)
    field.fill("#scale-1", "3")
    field.evaluate("window.attach()")
    assert found.inner_text() == "All 3 find one."
    field.fill("#scale-1", "4")
    assert found.inner_text() == ""
