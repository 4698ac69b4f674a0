"""What happened, as *Now* tells it: sentences from frames, of what one may see, newest first."""

import pytest

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.nodes import DrainRequest, drain_node
from dashboard.feeds.overview import OverviewFeed
from dashboard.feeds.pieces import Html
from dashboard.queries import happenings
from dashboard.queries.happenings import FrameTeller, Happened
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.nodes import write_node
from scheduler.structs.allocation import ClientStatus, TaskEvent, TaskState
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.node import DrainStrategy
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.callers import MANAGER


@pytest.fixture
def write(sqlite_store):
    def one(work, kind=WriteKind.EVALUATION_UPDATED):
        return sqlite_store.write(kind, work, now=SOME_MOMENT)

    return one


def told(store, *, shows=lambda _: True, sees_nodes=True):
    happened = Happened(FrameTeller(shows, sees_nodes=sees_nodes))
    store.read(happened.load)
    return [f"{row.status}: {row.name}{row.sign} {row.text}" for row in happened.rows()]


def ended(number, change, **fields):
    made = make_evaluation(
        number, status=EvalStatus.COMPLETE, create_index=1, modify_index=change.index,
        create_time=SOME_MOMENT - SECOND, modify_time=SOME_MOMENT, **fields,
    )  # fmt: skip
    put_found(change, made)


def test_each_change_that_a_person_would_tell_of_is_a_sentence(sqlite_store, write):
    how = {"by": MANAGER, "now": SOME_MOMENT, "ids": CountingIDs()}
    register_job(sqlite_store, JobRegistration(job=make_job()), **how)
    write(lambda change: write_node(change, make_node(name="one")), WriteKind.NODE_REGISTRATION)
    write(lambda change: ended(1, change))
    write(lambda change: change.put_deployment(Deployment(
        id="d", job_id="web", create_index=change.index, modify_index=change.index,
    )))  # fmt: skip
    write(lambda change: change.put_deployment(Deployment(
        id="d", job_id="web", create_index=1, modify_index=change.index,
        status=DeploymentStatus.FAILED, status_description="Failed due to unhealthy allocations",
    )))  # fmt: skip
    state = TaskState(failed=True, events=(TaskEvent(display_message="Exit Code: 137"),))
    failed = make_allocation(number=3, client_status=ClientStatus.FAILED)
    write(
        lambda change: put_found(change, failed.changed(task_states={"web": state})),
        WriteKind.ALLOCATION_UPDATED,
    )
    deregister_job(sqlite_store, JobKey("default", "web"), purge=False, **how)
    assert told(sqlite_store) == [
        "job: web was stopped",
        f"failed: {failed.name} failed: Exit Code: 137",
        "failed: Rollout of web v0: allocations became unhealthy",
        "running: Rollout of web v0 begins",
        "complete: web: nothing had to change",
        "ready: one: joined",
        "job: web v0 was submitted",
    ]


def test_a_node_stands_as_its_drain_and_its_doors_say(sqlite_store, write):
    node = make_node(name="one")
    write(lambda change: write_node(change, node), WriteKind.NODE_REGISTRATION)
    how = {"by": MANAGER, "now": SOME_MOMENT, "ids": CountingIDs(prefix="d")}
    drain_node(sqlite_store, node.id, DrainRequest(strategy=DrainStrategy()), **how)
    assert "draining: one: its drain began" in told(sqlite_store)


def test_nobody_is_told_of_what_they_may_not_see(sqlite_store, write):
    write(lambda change: write_node(change, make_node()), WriteKind.NODE_REGISTRATION)
    write(lambda change: ended(1, change, namespace="secret"))
    assert len(told(sqlite_store)) == 2
    assert told(sqlite_store, shows=lambda name: name != "secret", sees_nodes=False) == []


def test_alike_neighbours_of_one_story_are_one_row(sqlite_store, write):
    def many(change):
        for number in range(64):
            ended(number, change, story_id="s")

    write(many)
    write(lambda change: ended(90, change, story_id="t"))
    assert told(sqlite_store) == [
        "complete: web: nothing had to change",
        "complete: 64 evaluations of one story: nothing had to change",
    ]


def test_an_open_page_tells_what_a_fresh_one_tells(sqlite_store, write, monkeypatch):
    monkeypatch.setattr(happenings, "LOOKED_BACK", 8)
    feed = OverviewFeed(Subscription("overview", "*", None, frozenset({"node:read"})))
    sqlite_store.read(feed.load)
    for number in range(30):
        since = sqlite_store.index
        write(lambda change, number=number: ended(number, change, story_id=f"s{number % 2}"))
        for frame in sqlite_store.frames_since(since):
            feed.observe(frame)
        rows = feed._happened.rows()
        assert [f"{row.status}: {row.name}{row.sign} {row.text}" for row in rows] == told(
            sqlite_store
        )
        pieces = feed.flush(None, SOME_MOMENT)
        (html,) = [p.html for p in pieces if isinstance(p, Html) and p.target == "happened"]
        assert rows[0].eval_id in html


def test_nodes_that_come_one_after_another_are_one_row(sqlite_store, write):
    for number in range(1, 5):
        node = make_node(number, name=f"n-{number}")
        write(lambda change, node=node: write_node(change, node), WriteKind.NODE_REGISTRATION)
    assert told(sqlite_store) == ["ready: 4 nodes: joined"]
