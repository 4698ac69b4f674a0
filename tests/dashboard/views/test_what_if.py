"""The page What if: several changes at once, one address for what was found, problems by place."""

import re

import msgspec
import pytest

from cluster.operations.rehearsals import begin_rehearsal
from cluster.rehearsal.scenario_form import read_scenario
from cluster.runtime.rehearsal_process import carry_out
from dashboard.queries.composed import (
    AskedChange,
    documents_of,
    fields_of_rows,
    rows_of_fields,
    rows_of_scenario,
)
from dashboard.rehearsing import ask_to_rehearse
from dashboard.topology import rack_keys
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import QUOTAS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import SOME_MOMENT, CountingIDs, make_job, make_node

HOSTILE = "<i>n</i>"


def fill(store):
    def work(change):
        put_found(change, make_node(1, name=HOSTILE, node_class="big"))
        change.put_job(make_job())

    store.write("JobRegistered", work, now=SOME_MOMENT)


def asked(store):
    return store.read(lambda reader: list(reader.list_all(REHEARSALS)))


def asked_by_program(store, *changes):
    ids = CountingIDs(prefix="c")
    return ask_to_rehearse(store, list(changes), by=CLUSTER, now=SOME_MOMENT + 1, ids=ids)


def row_of(number, kind, **fields):
    """The fields of one row of the form."""
    return {f"{number}-kind": kind} | {f"{number}-{name}": told for name, told in fields.items()}


LOSE_BIG = row_of(1, "lose", where="class", **{"is": "big"})


def rehearsed(store):
    """The one that was asked for, carried out."""
    (row,) = asked(store)
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    return row


def test_several_changes_are_rehearsed_and_the_address_is_shared(store, browser):
    fill(store)
    answer = browser.post(
        "/what-if/ask/",
        **LOSE_BIG,
        **row_of(2, "add", like=HOSTILE, many="2"),
        **row_of(3, "algorithm", prefer="spread"),
    )
    (row,) = asked(store)
    assert msgspec.json.decode(row.scenario) == {
        "Changes": [
            {"Lose": {"Filter": 'NodeClass == "big"'}},
            {"Add": {"Like": make_node(1).id, "Count": 2}},
            {"Settings": {"SchedulerAlgorithm": "spread"}},
        ]
    }
    assert answer.headers["Location"] == f"/what-if/{row.id}/"
    page = browser.get(f"/what-if/{row.id}/")
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text
    assert HOSTILE not in page.text
    # The form asks the same again, filled from the scenario itself.
    assert [(each.kind, each.told) for each in page.context["rows"]] == [
        ("lose", "1 node, 0 allocations"),
        ("add", page.context["rows"][1].told),
        ("algorithm", "now: full nodes (binpack)"),
    ]
    assert page.context["rows"][1].values["like"] == HOSTILE
    rehearsed(store)
    found = browser.get(f"/what-if/{row.id}/")
    assert ("http-equiv" in found.text, "Until all is calm" in found.text) == (False, True)
    assert HOSTILE not in found.text


def test_a_change_is_added_and_removed_and_what_was_typed_stays(store, browser):
    fill(store)
    more = browser.post("/what-if/ask/", **LOSE_BIG, step="add").headers["Location"]
    assert asked(store) == []
    rows = browser.get(more).context["rows"]
    assert [(row.kind, row.values["is"]) for row in rows] == [("lose", "big"), ("lose", "")]
    less = browser.post(
        "/what-if/ask/", **LOSE_BIG, **row_of(2, "stop", job="web"), remove="1"
    ).headers["Location"]
    (row,) = browser.get(less).context["rows"]
    assert (row.kind, row.values["job"]) == ("stop", "web")


def test_a_form_composed_on_stays_beside_what_was_found(store, browser):
    fill(store)
    browser.post("/what-if/ask/", **LOSE_BIG)
    row = rehearsed(store)
    more = browser.post("/what-if/ask/", **LOSE_BIG, of=row.id, step="add").headers["Location"]
    page = browser.get(more)
    assert more.startswith(f"/what-if/{row.id}/?")
    assert (len(page.context["rows"]), "Before and after" in page.text) == (2, True)


def test_before_and_after_show_every_node_and_what_is_new(store, browser):
    fill(store)
    browser.post("/what-if/ask/", **LOSE_BIG, **row_of(2, "add", like=HOSTILE, many="3"))
    row = rehearsed(store)
    before, after = browser.get(f"/what-if/{row.id}/").context["heat_sides"]
    assert (before.totals.nodes, before.totals.lost) == (1, 0)
    assert (after.totals.nodes, after.totals.lost) == (4, 1)
    drawn = "".join(place["html"] for place in after.places)
    assert ('class="gone"' in drawn, 'data-state="complete"' in drawn) == (True, True)
    ids = re.findall(r'id="(rack-[^"]+)"', browser.get(f"/what-if/{row.id}/").text)
    assert len(ids) == len(set(ids))


def test_what_moves_and_what_waits_adds_up(store, browser):
    """Twenty more than fit wait; each group stands once under each of its outcomes."""
    fill(store)
    browser.post("/what-if/ask/", **row_of(1, "count", job=make_job().id, count="500"))
    row = rehearsed(store)
    page = browser.get(f"/what-if/{row.id}/")
    totals = page.context["rehearsal"]["found"]["result"].totals
    sections = {each.key: each for each in page.context["sections"]}
    assert totals.waits > 0
    assert sum(line.allocations for line in sections["wait"].lines) == totals.waits + totals.held
    assert sum(line.allocations for line in sections["move"].lines) == totals.placed
    assert page.context["sum_told"].endswith(f"= {totals.need_place}")


def test_what_would_help_is_told_with_a_button_and_the_button_leads_to_it(store, browser):
    """The rehearsed change, added to the form, lets as many find a place as was said."""
    fill(store)
    browser.post("/what-if/ask/", **row_of(1, "count", job=make_job().id, count="500"))
    row = rehearsed(store)
    page = browser.get(f"/what-if/{row.id}/")
    result = page.context["rehearsal"]["found"]["result"]
    best = result.helps[0]
    line = page.context["helps"][0]
    assert line.told == f"Add {best.change.count} nodes of class big like {HOSTILE}"
    assert best.fits_in_all == result.totals.waits
    assert line.fits == f"{best.fits_in_all} of {result.totals.waits} fit"
    assert HOSTILE not in page.text
    (waiting,) = page.context["sections"][0].lines
    assert waiting.help == f"{line.told}: {line.fits}"
    assert page.context["help_told"].startswith(line.told)
    again = browser.get(line.try_url)
    assert [each.kind for each in again.context["rows"]] == ["count", "add"]
    values = again.context["rows"][1].values
    assert (values["many"], values["like"]) == (str(best.change.count), HOSTILE)


def test_a_rehearsal_is_taken_along_as_files(store, browser):
    fill(store)
    browser.post("/what-if/ask/", **row_of(1, "count", job=make_job().id, count="500"))
    row = rehearsed(store)
    address = f"/what-if/{row.id}/story"
    note = browser.get(f"{address}.md").text
    result = browser.get(f"/what-if/{row.id}/").context["rehearsal"]["found"]["result"]
    assert f"{result.totals.placed} of 500 that need a place" in note
    assert "## What would help" in note
    assert HOSTILE not in note
    assert msgspec.json.decode(browser.get(f"{address}.json").text)["Index"] == result.index
    assert browser.get(f"{address}.mmd").text.startswith("flowchart")
    assert "<svg" in browser.get(f"{address}.svg").text
    assert browser.get(f"{address}.pdf").status == 404
    assert browser.get(address.replace(row.id, "none") + ".md").status == 404


def test_two_rehearsals_stand_beside_each_other(store, browser):
    fill(store)
    browser.post("/what-if/ask/", **LOSE_BIG)
    first = rehearsed(store)
    browser.post("/what-if/ask/", **row_of(1, "count", job=make_job().id, count="500"))
    second = next(row for row in asked(store) if row.id != first.id)
    begin_rehearsal(store, second.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(second.id)
    page = browser.get(f"/what-if/{second.id}/", beside=first.id)
    lines = {line.word: line for line in page.context["compared"].lines}
    assert lines["Nodes after"].left == "1"
    assert lines["Nodes after"].right == "0"
    assert lines["Changes"].right == 'Lose nodes with NodeClass == "big"'
    assert browser.get(f"/what-if/{second.id}/", beside="none").context["compared"] is None


def test_what_was_asked_elsewhere_comes_before_the_empty_form(store, browser):
    """What the form could not ask comes first; of the rest the form comes first, filled."""
    fill(store)
    browser.post("/what-if/ask/", **LOSE_BIG)
    (row,) = asked(store)
    here = browser.get(f"/what-if/{row.id}/").text
    change = {"Purge": {"NodeIDs": [make_node(1).id]}}
    other = asked_by_program(store, change)
    elsewhere = browser.get(f"/what-if/{other.id}/").text
    assert here.index('id="changes-title"') > here.index('id="runs-title"')
    assert ("Rehearse again" in here, "Rehearse again" in elsewhere) == (True, False)


def test_every_problem_is_told_and_the_answers_are_kept(store, browser):
    fill(store)
    answer = browser.post(
        "/what-if/ask/",
        **row_of(1, "count", job="none", count="many"),
        **row_of(2, "stop", job="gone"),
    )
    assert asked(store) == []
    page = browser.get(answer.headers["Location"])
    assert "Not rehearsed: change 1, Count: must be a whole number" in page.text
    assert 'value="many"' in page.text


def test_a_quota_is_changed_by_so_much_more(store, browser):
    def work(change):
        limits = QuotaAmounts(cpu=500, memory_mb=1024)
        change.put(QUOTAS, QuotaSpec(name="small", limits=limits))

    fill(store)
    store.write("QuotaChanged", work, now=SOME_MOMENT)
    given = row_of(1, "quota", quota="small", memory="+ 24", cpu="700")
    browser.post("/what-if/ask/", **given)
    (row,) = asked(store)
    (change,) = msgspec.json.decode(row.scenario)["Changes"]
    assert change["Quota"] == {"Name": "small", "Limits": {"MemoryMB": 1048, "CPU": 700}}


HARD_RACK = {"where": "rack", "is": 'r"1', "share": "40"}
BY_FILTER = {"where": "filter", "is": "Name is not empty", "share": "100", "deadline": "90m"}


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(AskedChange("lose", HARD_RACK), id="lose"),
        pytest.param(AskedChange("drain", BY_FILTER), id="drain"),
        pytest.param(AskedChange("close", HARD_RACK), id="close"),
        pytest.param(AskedChange("open", {"where": "name", "is": "n-1"}), id="open"),
        pytest.param(AskedChange("algorithm", {"prefer": "spread"}), id="algorithm"),
        pytest.param(AskedChange("quota", {"quota": "q", "memory": "7"}), id="quota"),
        pytest.param(
            AskedChange("count", {"job": "a.b", "namespace": "default", "count": "3"}), id="count"
        ),
        pytest.param(AskedChange("stop", {"job": "a", "namespace": "ns"}), id="stop"),
    ],
)
def test_a_row_is_the_same_from_the_address_and_from_the_scenario(store, row):
    assert rows_of_fields(fields_of_rows([row]))[0].told("is") == row.told("is")

    def work(reader):
        document = {"Changes": documents_of(reader, [row])}
        return rows_of_scenario(reader, read_scenario(document), rack_keys()[0])

    (again,) = store.read(work)
    kept = {name: row.told(name) for name in row.fields}
    assert {name: again.told(name) for name in row.fields} == kept


def test_nothing_asked_and_no_such_rehearsal(store, browser):
    fill(store)
    answer = browser.post("/what-if/ask/")
    assert "nothing is changed" in browser.get(answer.headers["Location"]).text
    assert browser.get("/what-if/none/").status == 404


def test_what_was_found_is_told_as_a_story_too(store, browser):
    fill(store)
    browser.post("/what-if/ask/", **LOSE_BIG)
    (row,) = asked(store)
    address = f"/what-if/{row.id}/story/"
    assert browser.get(address).status == 404
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    assert address in browser.get(f"/what-if/{row.id}/").text
    page = browser.get(address)
    assert page.status == 200
    assert "Rehearsed, not done." in page.text
    assert page.context["graph"].nodes
    # Nothing of it is stored: none of its evaluations has a page.
    assert not [node for node in page.context["graph"].nodes if node.href]
    result = page.context["result"]
    assert page.context["facts"].evaluations == len(result.evaluations)
    assert HOSTILE not in page.text
