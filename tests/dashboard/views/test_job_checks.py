"""What the checks of a job's services found, all of its allocations together."""

import re
from contextlib import contextmanager

import msgspec
import pytest
from msgspec.structs import replace

from cluster.operations.agent_calls import LINKS
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.service import Check, Service
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.dashboard.views.test_usage import END, check

PAGE = "/jobs/checks/"


class Agent:
    def __init__(self, found):
        self.found = found
        self.asked = []

    async def call(self, _node_id, verb, body, _given=None):
        assert verb == "allocs.checks"
        self.asked += body["AllocIDs"]
        yield msgspec.json.encode(
            {alloc_id: self.found.get(alloc_id, {}) for alloc_id in body["AllocIDs"]}
        )


@contextmanager
def connected(node, found):
    agent = Agent(found)
    LINKS.add((node.id,), agent)
    yield agent
    LINKS.remove(agent)


def with_check(job):
    (group,) = job.task_groups
    service = Service(name="web-http", provider="nomad", checks=(Check(name="alive"),))
    return replace(job, task_groups=(replace(group, services=(service,)),))


@pytest.fixture
def place(store, node, ids):
    """Store `count` running allocations of the job `web`, of one version."""

    def place(count, *, version=0, job=None):
        def fill(change):
            stored = write_job(change, job or with_check(make_job(id="web")))
            allocs = [
                make_allocation(
                    stored, id=ids.next_id(), name=f"web.web[{number}]",
                    node_id=node.id, node_name=node.name,
                    job_create_index=stored.create_index, client_status=ClientStatus.RUNNING,
                    job_version=version,
                )
                for number in range(count)
            ]  # fmt: skip
            for alloc in allocs:
                put_found(
                    change, replace(alloc, create_index=change.index, modify_index=change.index)
                )
            return [alloc.id for alloc in allocs]

        return store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)[1]

    return place


def told(answer):
    """Each row: state, check, version, how many pass, where they do not."""
    rows = answer.text[answer.text.index("<tbody>") :].split("<tr ")[1:]
    return [
        " ".join(re.sub(r"<[^>]+>", " ", row.partition(">")[2].replace("&nbsp;", " ")).split())
        for row in rows
    ]


def get(browser, **more):
    return browser.get(PAGE, namespace="default", id="web", **more)


def test_how_many_pass_which_fail_and_where(browser, node, place):
    old = place(2)
    new = place(1, version=1)
    found = {
        old[0]: {"a": check("success", StatusCode=200)},
        old[1]: {"a": check("success", StatusCode=200)},
        new[0]: {"a": check("failure", StatusCode=404)},
    }
    with connected(node, found) as agent:
        answer = get(browser)
    assert sorted(agent.asked) == sorted([*old, *new])
    assert "2 of 3 pass in 3 allocations; 1 has one that fails" in answer.text
    first, second = answer.context["lines"]
    assert (first.status, first.version, first.passing, first.asked) == ("failure", 1, 0, 1)
    assert [each.alloc_id for each in first.where] == new
    assert (second.status, second.version, second.passing, second.asked) == ("success", 0, 2, 2)
    assert (first.answer, second.answer) == ("answered 404", "answered 200")
    assert f"/allocations/{new[0]}/" in answer.text
    shown = told(answer)
    assert shown[0].startswith("fails alive of web-http, group web v1 0 of 1 [0]")
    assert shown[1].startswith("passes alive of web-http, group web v0 2 of 2 nowhere")


def test_many_that_fail_are_named_in_natural_order_up_to_a_number(browser, node, place):
    ids = place(12)
    found = {alloc_id: {"a": check("failure")} for alloc_id in ids}
    found[ids[3]] = {"a": check("pending")}
    with connected(node, found):
        (line,) = get(browser).context["lines"]
    assert [each.name for each in line.where] == [f"[{number}]" for number in (0, 1, 2, 4, 5, 6)]
    assert line.more == 6
    assert line.passing == 0
    assert line.asked_at == END * 1_000_000_000


def test_a_node_that_is_away_is_said_and_its_allocations_are_not_counted(browser, place, node):
    place(2)
    answer = get(browser)
    assert "No node of this job answers." in answer.text
    assert f"2 allocations left out: {node.name} does not answer." in answer.text


def test_what_is_not_checked_says_why(browser, node, place, store):
    place(1)
    with connected(node, {}):
        assert "No check was begun" in get(browser).text
    place(1, job=make_job(id="web"))
    with connected(node, {}):
        assert "Its services ask for no checks." in get(browser).text


def test_an_agent_that_tells_other_things_is_left_out(browser, node, place):
    (alloc_id,) = place(1)
    with connected(node, {alloc_id: {"a": {"Check": 1}}}):
        assert "No check was begun" in get(browser).text


def test_the_panel_alone_is_asked_for_by_the_pages_of_the_job(browser, node, place):
    (alloc_id,) = place(1)
    with connected(node, {alloc_id: {"a": check("success")}}):
        assert get(browser, part="1").text.startswith('<section class="panel" id="job-checks"')
    page = browser.get("/jobs/default/web/").text
    assert 'data-usage="/jobs/checks/?namespace=default&amp;id=web"' in page


def test_a_job_without_checks_has_no_place_for_them(browser, place):
    place(1, job=make_job(id="web"))
    page = browser.get("/jobs/default/web/").text
    assert "/jobs/checks/" not in page
    assert 'id="job-checks-place" hidden' in page


def test_a_job_that_is_not_there_has_none(browser):
    assert browser.get(PAGE, namespace="default", id="none").status == 404
