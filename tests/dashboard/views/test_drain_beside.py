"""Beside a drain's board: what holds it up, what would end it, whether it goes as rehearsed."""

import pytest
from msgspec.structs import replace

from cluster.operations.nodes import DrainRequest, drain_node
from cluster.operations.rehearsals import begin_rehearsal
from cluster.rehearsal.asking import ask_to_rehearse
from cluster.runtime.rehearsal_process import carry_out
from scheduler.access.caller import CLUSTER
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.node import DrainStrategy
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_job, make_node
from tests.callers import MANAGER

OTHERS = [make_node(2, name="two"), make_node(3, name="three")]
JOB = make_job(id="web")
HEALTHY = {
    "client_status": ClientStatus.RUNNING,
    "deployment_status": DeploymentHealth(healthy=True),
}


def put(store, *values):
    def work(change):
        for value in values:
            put_found(change, value)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


@pytest.fixture
def running(store, node):
    """One allocation of a job on the node, and what it is."""
    alloc = make_allocation(JOB, node_id=node.id, create_index=1, **HEALTHY)
    store.write(WriteKind.JOB_REGISTERED, lambda change: change.put_job(JOB), now=SOME_MOMENT)
    put(store, *OTHERS, alloc)
    return alloc


def drain(store, node, ids, **strategy):
    asked = DrainRequest(strategy=DrainStrategy(**strategy))
    later = {"by": MANAGER, "now": SOME_MOMENT + SECOND, "ids": ids}
    drain_node(store, node.id, asked, **later)


def rehearsed(store, node, ids):
    """What was found of a drain of the node: where its allocation would go."""
    change = {"Drain": {"NodeIDs": [node.id], "Spec": {"Deadline": "1h"}}}
    keep = {"keep": 5, "keep_hours": 1}
    row = ask_to_rehearse(store, change, by=MANAGER, now=SOME_MOMENT, ids=ids, **keep)
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    return row.id


def cards(answer):
    return [card for column in answer.context["columns"] for card in column["cards"]]


def moved(store, alloc, to):
    """It has stopped, and what takes its place runs there."""
    after = make_allocation(
        JOB, 13, node_id=to.id, node_name=to.name, name=alloc.name,
        client_status=ClientStatus.RUNNING, previous_allocation=alloc.id,
        create_index=10_000, modify_index=10_000,
    )  # fmt: skip
    ended = {"client_status": ClientStatus.COMPLETE, "modify_time": SOME_MOMENT + 2 * SECOND}
    put(store, after, replace(alloc, next_allocation=after.id, **ended))


def test_each_card_says_whether_it_goes_as_rehearsed(store, browser, node, running, ids):
    rehearsal_id = rehearsed(store, node, ids)
    drain(store, node, ids, deadline=3600 * SECOND)
    page = f"/drains/{node.id}/"
    (card,) = cards(browser.get(page))
    assert card.verdict == "to-come"
    named = next(each for each in OTHERS if card.rehearsed == f"rehearsed to go to {each.name}")
    (other,) = (each for each in OTHERS if each is not named)
    assert "0 of 1 as rehearsed" in browser.get(page).text
    moved(store, running, other)
    answer = browser.get(page)
    assert [card.rehearsed for card in cards(answer)] == [
        f"differs here: rehearsed on {named.name}"
    ]
    moved(store, running, named)
    answer = browser.get(page)
    assert [card.rehearsed for card in cards(answer)] == ["as rehearsed"]
    assert f'<a href="/what-if/{rehearsal_id}/">' in answer.text
    assert "1 of 1 as rehearsed" in answer.text


def test_a_drain_that_nobody_rehearsed_says_nothing_of_it(store, browser, node, running, ids):
    drain(store, node, ids)
    answer = browser.get(f"/drains/{node.id}/")
    assert [card.rehearsed for card in cards(answer)] == [""]
    assert "rehearsed</dt>" not in answer.text


def test_what_a_canceled_drain_left_where_it_was_differs(store, browser, node, running, ids):
    rehearsed(store, node, ids)
    drain(store, node, ids)
    asked = DrainRequest(strategy=None)
    drain_node(store, node.id, asked, by=MANAGER, now=SOME_MOMENT + 2 * SECOND, ids=ids)
    assert [card.verdict for card in cards(browser.get(f"/drains/{node.id}/"))] == ["differs"]


def test_what_holds_a_drain_up_stands_beside_what_would_let_it_finish(
    store, browser, node, running, ids
):
    drain(store, node, ids, deadline=3600 * SECOND)
    assert browser.get(f"/drains/{node.id}/").context["held"] == []
    put(store, make_allocation(JOB, 1, node_id=node.id, **HEALTHY))
    waits = Evaluation(
        id="waits", job_id="web", status=EvalStatus.BLOCKED, create_time=SOME_MOMENT
    )
    put(store, waits)
    answer = browser.get(f"/drains/{node.id}/")
    (line,) = answer.context["held"]
    assert (line.card.alloc.name, line.more, line.since) == ("web.web[0]", 1, SOME_MOMENT)
    assert [(each.told, each.url) for each in answer.context["finish"]] == [
        ("Let web of web find room", "/explain/waits/?group=web&unblock=1#unblock"),
        ("Rehearse what is left of it", f"/what-if/?1-kind=drain&1-where=name&1-is={node.name}"),
        ("Wait for the deadline", ""),
    ]
    last = answer.context["finish"][-1]
    assert last.about == "2 allocations are here still; what is then left is stopped by force."
    assert last.at == SOME_MOMENT + 3601 * SECOND
    assert "What holds it up" in answer.text
    # Where it leads to.
    assert browser.get("/explain/waits/?group=web&unblock=1").status == 200
    form = browser.get(answer.context["finish"][1].url)
    assert f'value="{node.name}"' in form.text


def test_a_drain_without_a_deadline_is_not_told_to_wait_for_one(
    store, browser, node, running, ids
):
    drain(store, node, ids)
    put(store, Evaluation(id="waits", job_id="web", status=EvalStatus.BLOCKED))
    told = [each.told for each in browser.get(f"/drains/{node.id}/").context["finish"]]
    assert told == ["Let web of web find room", "Rehearse what is left of it"]
