"""Rows of a list that is open: each goes where the next load would show it, or nowhere."""

import json

import pytest

APPLY = """async (pieces) => {
  const { applyPieces } = await import("/static/js/live/swap.js");
  applyPieces(pieces);
  return [...document.querySelectorAll("tr")].map((row) => row.dataset.key);
}"""
LINK = """() => {
  const link = document.querySelector("[data-older]");
  return [link.getAttribute("href"), link.parentElement.hidden];
}"""


def row(list_id, key, **data):
    told = "".join(f' data-{name}="{value}"' for name, value in data.items())
    return f'<tr id="{list_id}-{key}" data-key="{key}"{told}><td>{key}</td></tr>'


def changed(list_id, key, **data):
    html = row(list_id, key, **data)
    return {"kind": "html", "target": f"{list_id}-{key}", "html": html}


def new(list_id, key, **data):
    return {**changed(list_id, key, **data), "mode": "upsert", "container": list_id}


@pytest.fixture
def opened(tab, address, pages):
    """A page with one list; `follow` applies pieces and tells the keys that are shown then."""

    def opened(list_id, rows, attributes="", *, has_older=False):
        hidden = "" if has_older else " hidden"
        pages["/list"] = (
            "<!doctype html><html lang=en><head><title>x</title></head><body><table>"
            f"<tbody id={list_id} {attributes}>{''.join(rows)}</tbody></table>"
            f"<p{hidden}><a data-older={list_id} href='/jobs/?q=w&amp;after=z'>Older</a></p>"
            "</body></html>"
        )
        tab.goto(f"{address}/list")
        return lambda *pieces: tab.evaluate(APPLY, json.loads(json.dumps(pieces)))

    return opened


def jobs(*keys):
    return [row("jobs", key, namespace="default", after=f"default/{key}") for key in keys]


BY_NAME = 'data-order="namespace key"'


def test_a_new_job_is_sorted_in(opened):
    follow = opened("jobs", jobs("api", "web"), BY_NAME)
    assert follow(new("jobs", "db", namespace="default")) == ["api", "db", "web"]
    assert follow(new("jobs", "aa", namespace="team")) == ["api", "db", "web", "aa"]
    assert follow(new("jobs", "a0", namespace="default"))[0] == "a0"


def test_what_belongs_on_the_next_page_does_not_come(opened):
    follow = opened("jobs", jobs("api", "web"), BY_NAME, has_older=True)
    assert follow(new("jobs", "zoo", namespace="default")) == ["api", "web"]


def test_a_full_page_hands_its_last_row_to_the_next_and_keeps_its_filters(opened, tab):
    follow = opened("jobs", jobs("api", "web"), f'{BY_NAME} data-limit="2"')
    assert follow(new("jobs", "db", namespace="default")) == ["api", "db"]
    assert tab.evaluate(LINK) == ["/jobs/?q=w&after=default%2Fweb", False]


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        pytest.param("worker", ["web", "worker"], id="fits"),
        pytest.param("api", ["web"], id="does-not"),
    ],
)
def test_a_list_by_prefix_takes_what_begins_so(opened, key, shown):
    follow = opened("jobs", jobs("web"), f'{BY_NAME} data-match-prefix="w"')
    assert follow(new("jobs", key, namespace="default")) == shown


def evaluation(key, status):
    return {"after": f"{key}.e{key}", "status": status}


def test_a_list_by_status_takes_what_comes_to_it_and_lets_go_what_leaves(opened):
    rows = [row("evaluation-rows", key, **evaluation(key, "blocked")) for key in ("30", "9")]
    follow = opened("evaluation-rows", rows, 'data-order="-after" data-match-status="blocked"')
    assert follow(changed("evaluation-rows", "12", **evaluation("12", "blocked"))) == [
        "30", "12", "9",
    ]  # fmt: skip
    assert follow(changed("evaluation-rows", "30", **evaluation("30", "complete"))) == ["12", "9"]
    assert follow(new("evaluation-rows", "31", **evaluation("31", "pending"))) == ["12", "9"]


def test_what_was_made_by_one_write_goes_by_id_the_last_first(opened):
    rows = [row("evaluation-rows", "b", after="7.b")]
    follow = opened("evaluation-rows", rows, 'data-order="-after"')
    shown = follow(
        new("evaluation-rows", "a", after="7.a"), new("evaluation-rows", "c", after="7.c")
    )
    assert shown == ["c", "b", "a"]


def test_a_list_of_all_takes_no_old_row_that_merely_changed(opened):
    rows = [row("evaluation-rows", "30", **evaluation("30", "blocked"))]
    follow = opened("evaluation-rows", rows, 'data-order="-after"')
    assert follow(changed("evaluation-rows", "12", **evaluation("12", "blocked"))) == ["30"]
    assert follow(new("evaluation-rows", "31", **evaluation("31", "pending"))) == ["31", "30"]
