"""Compositions under names: kept, opened, renamed and deleted, by whoever may; and shared."""

import pytest
from django.contrib.auth.models import User

from cluster.store.audit import AuditFilter, read_audit
from dashboard.compositions import LONGEST_NAME, MOST
from dashboard.models import SavedComposition
from scheduler.state.nouns import NAMESPACES
from scheduler.structs.job import Namespace
from tests.builders import SOME_MOMENT
from tests.dashboard.views.conftest import Browser
from tests.people import account, account_with

ROWS = {"1-kind": "lose", "1-where": "class", "1-is": "<b>big</b>"}
OF_TEAM = {"1-kind": "count", "1-job": "web", "1-namespace": "team", "1-count": "5"}
SAVE = "/what-if/saved/save/"


@pytest.fixture(autouse=True)
def team(store):
    store.write(
        "NamespaceUpserted",
        lambda change: change.put(NAMESPACES, Namespace(name="team", create_index=change.index)),
        now=SOME_MOMENT,
    )


def names():
    return [row.name for row in SavedComposition.objects.order_by("name")]


def acts(store):
    store.audit.flush()
    rows = read_audit(store, AuditFilter(), limit=50).rows
    return [(entry.act, entry.target_id, entry.result) for entry in rows]


def test_one_is_kept_under_a_name_and_opens_as_it_was(browser):
    page = browser.get(browser.post("/what-if/ask/", **ROWS, step="save").headers["Location"])
    assert page.context["saving"] == ["Lose nodes: class <b>big</b>"]
    assert "<b>big</b>" not in page.text
    answer = browser.post(SAVE, **ROWS, name="  the big   ones ")
    opened = browser.get(answer.headers["Location"])
    assert names() == ["the big ones"]
    assert "Saved as the big ones." in opened.text
    (row,) = opened.context["rows"]
    assert (row.kind, row.values["where"], row.values["is"]) == ("lose", "class", "<b>big</b>")
    listed = browser.get("/what-if/saved/")
    (line,) = listed.context["lines"]
    assert (line.value.name, line.value.by_name) == ("the big ones", "kim")
    assert line.changes == ("Lose nodes: class <b>big</b>",)
    assert "<b>big</b>" not in listed.text


def test_the_shared_address_opens_the_same_composition_for_somebody_else(store, browser):
    shared = browser.get("/what-if/", **ROWS).context["composed_url"]
    other = Browser(account(store, "viewer")).get(shared)
    (row,) = other.context["rows"]
    assert (row.kind, row.values["where"], row.values["is"]) == ("lose", "class", "<b>big</b>")
    assert "What was" not in other.text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"name": "  "} | ROWS, "it needs a name", id="no-name"),
        pytest.param({"name": "x" * (LONGEST_NAME + 1)} | ROWS, "at most 80", id="too-long"),
        pytest.param({"name": "a\x07b"} | ROWS, "can be printed", id="unprintable"),
        pytest.param({"name": "empty"}, "there is no change in it", id="no-rows"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_the_rows_stay(browser, fields, says):
    answer = browser.post(SAVE, **fields)
    page = browser.get(answer.headers["Location"])
    assert says in page.text
    assert (names(), page.context["fields"]) == ([], ROWS if "1-kind" in fields else {})


def test_only_so_many_are_kept(browser):
    SavedComposition.objects.bulk_create(
        SavedComposition(name=f"n{number}", fields="{}", saved_at="2026-11-23T00:00:00Z")
        for number in range(MOST)
    )
    browser.post(SAVE, **ROWS, name="one more")
    assert "one more" not in names()
    # One that is there is replaced all the same.
    browser.post(SAVE, **ROWS, name="n0")
    assert SavedComposition.objects.get(name="n0").fields != "{}"


def test_its_owner_and_managers_change_it_and_nobody_else(store, browser):
    owner, other = (
        Browser(account(store, kind, name)) for kind, name in (("viewer", "o"), ("viewer", "x"))
    )
    owner.post(SAVE, **ROWS, name="mine")
    saved_id = SavedComposition.objects.get().pk
    (line,) = other.get("/what-if/saved/").context["lines"]
    assert not line.value.may_change
    other.post(SAVE, **OF_TEAM, name="mine")
    other.post(f"/what-if/saved/{saved_id}/rename/", name="yours")
    other.post(f"/what-if/saved/{saved_id}/delete/")
    row = SavedComposition.objects.get()
    assert (row.name, row.user.username, "big" in row.fields) == ("mine", "o", True)
    owner.post(f"/what-if/saved/{saved_id}/rename/", name="ours")
    assert names() == ["ours"]
    browser.post(f"/what-if/saved/{saved_id}/delete/")
    assert names() == []
    told = acts(store)
    assert ("delete composition", str(saved_id), "done") in told
    assert ("delete composition", str(saved_id), "refused") in told
    assert ("save composition", "mine", "done") in told


def test_a_name_is_taken_once(browser):
    for name in ("one", "two"):
        browser.post(SAVE, **ROWS, name=name)
    saved_id = SavedComposition.objects.get(name="one").pk
    page = browser.get(
        browser.post(f"/what-if/saved/{saved_id}/rename/", name="two").headers["Location"]
    )
    assert "there is one of this name" in page.text
    assert names() == ["one", "two"]


def test_one_that_names_a_job_one_may_not_read_is_not_there(store, browser):
    browser.post(SAVE, **OF_TEAM, name="of the team")
    saved_id = SavedComposition.objects.get().pk
    rules = 'namespace "default" { policy = "read" } node { policy = "read" }'
    guest = Browser(account_with(store, rules))
    assert "of the team" not in guest.get("/what-if/saved/").text
    assert guest.get("/what-if/", saved=str(saved_id)).status == 404
    guest.post(f"/what-if/saved/{saved_id}/delete/")
    assert names() == ["of the team"]
    # That the name is taken is all that is told.
    answer = guest.get(guest.post(SAVE, **ROWS, name="of the team").headers["Location"])
    assert "somebody else keeps one under this name" in answer.text


def test_what_is_kept_outlives_its_account(browser):
    browser.post(SAVE, **ROWS, name="kept")
    User.objects.get(username="kim").delete()
    assert SavedComposition.objects.get().user is None
    again = Browser(User.objects.create_superuser("lee"))
    assert "nobody known" in again.get("/what-if/saved/").text
