"""The button "Rehearse" beside an act: what it asks, what it shows, and who may press it."""

import html

import msgspec
import pytest

from cluster.operations.rehearsals import begin_rehearsal
from cluster.runtime.rehearsal_process import carry_out
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOBS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.rehearsal import RehearsalStatus
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node
from tests.dashboard.views.conftest import Browser
from tests.people import account_with

JOB = {"namespace": "default", "job": "web"}
NODE = make_node(1, name="<i>one</i>")
TEXT = """job "fresh" {
  group "web" {
    count = 2
    task "main" {
      driver = "mock_driver"
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
"""


@pytest.fixture
def running(store):
    """A job with one healthy allocation, on the first of two nodes."""

    def work(change):
        put_found(change, NODE)
        put_found(change, make_node(2, name="two"))
        change.put_job(make_job())
        alloc = make_allocation(node_id=NODE.id, node_name=NODE.name)
        health = DeploymentHealth(healthy=True)
        put_found(
            change, alloc.changed(client_status=ClientStatus.RUNNING, deployment_status=health)
        )

    store.write("JobRegistered", work, now=SOME_MOMENT)
    return store


def rehearsals(store):
    return store.read(lambda reader: list(reader.list_all(REHEARSALS)))


def asked_for(store):
    (row,) = rehearsals(store)
    return msgspec.json.decode(row.scenario)["Changes"]


def found(store, browser):
    """The page of the one rehearsal, once a process has carried it out."""
    (row,) = rehearsals(store)
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    return html.unescape(browser.get(f"/what-if/{row.id}/").text)


@pytest.mark.parametrize(
    ("address", "fields", "change"),
    [
        ("/jobs/stop/", {}, {"Stop": {"JobID": "web", "Namespace": "default"}}),
        ("/jobs/purge/", {}, {"Stop": {"JobID": "web", "Namespace": "default", "Purge": True}}),
        (
            "/jobs/scale/",
            {"rehearse": "web", "count.web": "3"},
            {"Scale": {"JobID": "web", "Namespace": "default", "Group": "web", "Count": 3}},
        ),
        (
            f"/nodes/{NODE.id}/eligibility",
            {"eligibility": "ineligible"},
            {"Eligibility": {"NodeIDs": [NODE.id], "Eligibility": "ineligible"}},
        ),
    ],
)
def test_the_act_is_asked_for_and_nothing_is_done(running, browser, address, fields, change):
    before = running.read(lambda reader: (list(reader.list_all(JOBS)), list(reader.nodes())))
    answer = browser.post(address, **{"rehearse": "1", **JOB, **fields})
    (row,) = rehearsals(running)
    assert answer.headers["Location"] == f"/what-if/{row.id}/"
    assert asked_for(running) == [change]
    assert before == running.read(
        lambda reader: (list(reader.list_all(JOBS)), list(reader.nodes()))
    )
    page = browser.get(f"/what-if/{row.id}/")
    assert page.status == 200
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text
    assert "Rehearsed, not done." in page.text
    assert ">Cancel</button>" in page.text


def test_what_was_found_stands_beside_the_act_itself(running, browser):
    browser.post("/jobs/stop/", rehearse="1", **JOB)
    page = found(running, browser)
    assert "Nothing needs a new place. 1 allocation stops." in page
    assert '<form class="rehearsed-act" method="post" action="/jobs/stop/">' in page
    assert ">Stop job</button>" in page
    assert 'name="rehearse"' in page
    answer = browser.post("/jobs/stop/", **JOB)
    assert answer.headers["Location"].startswith("/evaluations/")


def test_a_number_that_is_none_rehearses_nothing_and_is_told_at_its_field(running, browser):
    answer = browser.post("/jobs/scale/", **{**JOB, "rehearse": "web", "count.web": "many"})
    assert (answer.status, "give a whole number" in answer.text) == (400, True)
    assert rehearsals(running) == []


def test_a_node_that_is_not_there_and_a_word_that_is_none_are_named(running, browser):
    for address, word in (
        (f"/nodes/{NODE.id}/eligibility", "maybe"),
        ("/nodes/gone/eligibility", "ineligible"),
    ):
        answer = browser.post(address, rehearse="1", eligibility=word)
        assert answer.status == 302
    page = browser.get(f"/nodes/{NODE.id}/").text
    assert "Not rehearsed: Changes[0].Eligibility.Eligibility: must be eligible or inelig" in page
    assert "there is no node gone" in page
    assert rehearsals(running) == []


def test_who_may_not_act_may_not_rehearse_the_act(running):
    reader = 'namespace "default" { policy = "read" } node { policy = "read" }'
    looking = Browser(account_with(running, reader))
    assert looking.post("/jobs/stop/", rehearse="1", **JOB).status == 403
    assert looking.post(f"/nodes/{NODE.id}/eligibility", rehearse="1").status == 403
    assert rehearsals(running) == []


def test_who_may_act_but_sees_no_nodes_is_offered_no_rehearsal(running):
    writer = Browser(account_with(running, 'namespace "default" { policy = "write" }'))
    assert 'name="rehearse"' not in writer.get("/jobs/default/web/").text
    assert writer.post("/jobs/stop/", rehearse="1", **JOB).status == 302
    assert "Not rehearsed: Permission denied" in writer.get("/jobs/default/web/").text
    assert rehearsals(running) == []


def test_one_that_runs_is_canceled_once_and_only_by_its_own(running, browser):
    browser.post("/jobs/stop/", rehearse="1", **JOB)
    (row,) = rehearsals(running)
    rules = 'namespace "default" { policy = "read" } node { policy = "read" }'
    other = Browser(account_with(running, rules))
    assert ">Cancel</button>" not in other.get(f"/what-if/{row.id}/").text
    other.post(f"/what-if/{row.id}/cancel/")
    assert rehearsals(running) == [row]
    answer = browser.post(f"/what-if/{row.id}/cancel/", back="//evil.example/")
    assert answer.headers["Location"] == f"/what-if/{row.id}/"
    browser.post(f"/what-if/{row.id}/cancel/")
    (ended,) = rehearsals(running)
    assert ended.status is RehearsalStatus.CANCELED
    page = browser.get(f"/what-if/{row.id}/").text
    assert "The rehearsal was canceled by" in page
    assert "it is canceled already" in page


def planned(browser, **fields):
    page = browser.post("/jobs/new/", text=TEXT, step="plan").text
    values = dict.fromkeys(("digest", "index"), "")
    for name in values:
        values[name] = page.split(f'name="{name}"')[1].split('value="')[1].split('"')[0]
    return browser.post("/jobs/new/", **{"text": TEXT, **values, **fields})


def test_a_rollout_is_rehearsed_on_the_page_of_its_plan(running, browser):
    page = planned(browser, step="rehearse")
    (row,) = rehearsals(running)
    assert "Waits for its turn." in page.text
    assert 'value="look"' in page.text
    assert "Run what you reviewed" in page.text
    begin_rehearsal(running, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    told = html.unescape(planned(browser, step="look", rehearsal=row.id).text)
    assert "All 2 that need a place find one." in told
    assert running.read(lambda reader: len(list(reader.list_all(JOBS)))) == 1


def test_a_rehearsed_rollout_is_canceled_without_losing_the_text(running, browser):
    planned(browser, step="rehearse")
    (row,) = rehearsals(running)
    page = planned(browser, step="cancel", rehearsal=row.id)
    assert rehearsals(running)[0].status is RehearsalStatus.CANCELED
    assert "The rehearsal was canceled by" in page.text
    assert "job &quot;fresh&quot;" in page.text


def test_a_text_that_changed_since_its_plan_is_not_rehearsed(running, browser):
    page = planned(browser, step="rehearse", text=TEXT.replace("count = 2", "count = 3"))
    assert (page.status, "Not rehearsed: the text changed since your plan." in page.text) == (
        409,
        True,
    )
    assert rehearsals(running) == []
