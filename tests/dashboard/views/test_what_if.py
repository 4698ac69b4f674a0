"""The page What if: several changes at once, one address for what was found, problems by place."""

import html

from cluster.operations.rehearsals import begin_rehearsal
from cluster.runtime.rehearsal_process import carry_out
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.rehearsal_noun import REHEARSALS
from tests.builders import SOME_MOMENT, make_job, make_node

HOSTILE = "<i>n</i>"


def fill(store):
    def work(change):
        put_found(change, make_node(1, name=HOSTILE, node_class="big"))
        change.put_job(make_job())

    store.write("JobRegistered", work, now=SOME_MOMENT)


def asked(store):
    return store.read(lambda reader: list(reader.list_all(REHEARSALS)))


def test_several_changes_are_rehearsed_and_the_address_is_shared(store, browser):
    fill(store)
    answer = browser.post(
        "/what-if/ask/", lose='NodeClass == "big"', like=HOSTILE, add="2", algorithm="spread"
    )
    (row,) = asked(store)
    assert answer.headers["Location"].startswith(f"/what-if/{row.id}/?")
    page = browser.get(f"/what-if/{row.id}/")
    assert page.headers["Refresh"] == "2"
    assert HOSTILE not in page.text
    text = html.unescape(page.text)
    assert 'Lose nodes with NodeClass == "big"' in text
    assert f"Add 2 nodes like {HOSTILE}" in text
    assert "Change the scheduler: algorithm spread" in text
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    found = browser.get(f"/what-if/{row.id}/")
    assert ("Refresh" in found.headers, "Until all is calm" in found.text) == (False, True)


def test_what_was_asked_elsewhere_comes_before_the_empty_form(store, browser):
    """Of one that the form asked for, the form comes first, as it was filled, and asks again."""
    fill(store)
    lost = 'NodeClass == "big"'
    answer = browser.post("/what-if/ask/", lose=lost, add="2", like=HOSTILE)
    (row,) = asked(store)
    here = browser.get(answer.headers["Location"]).text
    elsewhere = browser.get(f"/what-if/{row.id}/").text
    assert here.index('id="changes-title"') < here.index('id="found-title"')
    assert "Rehearse again" in " ".join(here.split())
    assert elsewhere.index('id="found-title"') < elsewhere.index('id="changes-title"')
    assert "Rehearse again" not in " ".join(elsewhere.split())


def test_every_problem_is_told_and_the_answers_are_kept(store, browser):
    fill(store)
    answer = browser.post("/what-if/ask/", job="none", count="many", stop="gone")
    assert asked(store) == []
    page = browser.get(answer.headers["Location"])
    assert "Not rehearsed: Changes[0].Scale.Count: must be a whole number" in page.text
    assert 'value="many"' in page.text


def test_nothing_asked_and_no_such_rehearsal(store, browser):
    fill(store)
    answer = browser.post("/what-if/ask/")
    assert "nothing is changed" in browser.get(answer.headers["Location"]).text
    assert browser.get("/what-if/none/").status == 404


def test_what_was_found_is_told_as_a_story_too(store, browser):
    fill(store)
    browser.post("/what-if/ask/", lose='NodeClass == "big"')
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
