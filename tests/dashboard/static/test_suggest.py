"""Suggestions for the expression of a list, where a cursor stands and by the keyboard alone."""

import json

import pytest

WORDS = {
    "fields": {
        "JobID": ["text"], "Status": ["text", "running", "dead"], "Priority": ["number"],
        "AllAtOnce": ["truth", "true", "false"], "Datacenters": ["many"], "Update": ["one"],
        "Update.Canary": ["number"],
    },
    "operators": {
        "text": ["==", "!=", "contains", "is empty"], "number": ["==", "!="],
        "truth": ["==", "!="], "many": ["contains", "is empty"], "one": ["is nil", "is not nil"],
    },
}  # fmt: skip
ASK = """async ([text, words]) => {
  const { suggested } = await import("/static/js/controllers/suggest.js");
  return suggested(text, words).map((each) => each.text);
}"""
PAGE = (
    "<!doctype html><html lang=en><head><title>x</title></head><body><form action=/list>"
    "<input id=f name=filter aria-controls=s data-suggest=w><ul id=s role=listbox hidden></ul>"
    f"</form><script id=w type=application/json>{json.dumps(WORDS)}</script></body></html>"
)


@pytest.fixture
def opened(tab, address, pages):
    pages["/list"] = PAGE
    tab.goto(f"{address}/list")
    return tab


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", [*WORDS["fields"]], id="fields-first"),
        pytest.param("sta", ["Status"], id="a-field-is-begun"),
        pytest.param("not pri", ["Priority"], id="behind-not"),
        pytest.param("(jo", ["JobID"], id="in-brackets"),
        pytest.param("Status ", ["==", "!=", "contains", "is empty"], id="operators-of-a-text"),
        pytest.param("Update ", ["is nil", "is not nil"], id="operators-of-a-part"),
        pytest.param("Status con", ["contains"], id="an-operator-is-begun"),
        pytest.param("Status == ", ['"running"', '"dead"'], id="values"),
        pytest.param('Status == "ru', ['"running"'], id="a-value-is-begun"),
        pytest.param("AllAtOnce != ", ["true", "false"], id="truth"),
        pytest.param('Status == "dead" ', ["and", "or"], id="and-then"),
        pytest.param("JobID is empty ", ["and", "or"], id="and-then-without-a-value"),
        pytest.param(
            'Status == "dead" and p', ["Priority", "Update", "Update.Canary"], id="the-next-part"
        ),
        pytest.param("Nothing == ", [], id="an-unknown-field"),
    ],
)
def test_what_may_come_next_is_suggested(opened, text, found):
    assert opened.evaluate(ASK, [text, WORDS]) == found


def test_an_expression_is_put_together_by_the_keyboard(opened):
    opened.evaluate("""async () => {
      const { attachSuggest } = await import("/static/js/controllers/suggest.js");
      attachSuggest(document.getElementById("f"));
    }""")
    field = opened.locator("#f")
    field.focus()
    opened.keyboard.type("stat")
    for _ in range(3):
        opened.keyboard.press("ArrowDown")
        assert field.get_attribute("aria-expanded") == "true"
        opened.keyboard.press("Enter")
    assert field.input_value() == 'Status == "running" '
    opened.keyboard.press("Escape")
    assert not opened.locator("#s").is_visible()
    assert field.input_value() == 'Status == "running" '
    opened.evaluate("""() => document.forms[0].addEventListener("submit", (event) => {
      event.preventDefault();
      window.isSent = true;
    })""")
    opened.keyboard.press("Enter")
    assert opened.evaluate("window.isSent") is True
