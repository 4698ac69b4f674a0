"""What needs a person, worst first: facts in, the headline and the rows of *Now* out."""

import pytest

from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.nodes import DrainRequest, drain_node
from dashboard.labels import label_for
from dashboard.overview import Overview
from dashboard.queries.jobs import job_lines
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import ClientStatus, TaskState
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobStatus, JobSummary, TaskGroupSummary
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeStatus
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task_group,
)
from tests.callers import MANAGER
from tests.process_store import store

__all__ = ["store"]

MINUTE = 60 * SECOND
CANARIES = GroupRollout(
    desired_canaries=5, placed_canaries=tuple("abcde"), desired_total=100, placed_allocs=5,
    healthy_allocs=5, require_progress_by=SOME_MOMENT + MINUTE, progress_deadline=10 * MINUTE,
)  # fmt: skip
STUCK = GroupRollout(
    desired_total=12, placed_allocs=4, healthy_allocs=3, auto_revert=True,
    require_progress_by=SOME_MOMENT + MINUTE, progress_deadline=10 * MINUTE,
)  # fmt: skip
BLOCKED = make_evaluation(
    7, status=EvalStatus.BLOCKED, job_id="web",
    failed_task_groups={"web": AllocMetric(dimension_exhausted={"memory": 4}, nodes_evaluated=4)},
)  # fmt: skip


class Told:
    """An overview that has followed every write since the record was empty, and the record."""

    def __init__(self, store):
        self.store = store
        self.followed = Overview(None)
        store.read(self.followed.load)
        self.index = store.index

    def write(self, *values):
        def work(change):
            for value in values:
                if isinstance(value, Job):
                    change.put_job(value)
                elif isinstance(value, JobSummary):
                    change.put(JOB_SUMMARIES, value)
                else:
                    put_found(change, value)

        self.store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)

    def afresh(self):
        overview = Overview(None)
        self.store.read(overview.load)
        return overview

    def needs(self, now=SOME_MOMENT):
        """What a new page says; one that is open must say the same."""
        for frame in self.store.frames_since(self.index):
            for event in frame.events:
                self.followed.take(event, frame.index)
            self.index = frame.index
        if self.followed.misses_something:
            self.store.read(self.followed.read_missing)
        told = self.afresh().needs(now)
        assert self.followed.needs(now) == told
        assert self.followed.sentence(now) == self.afresh().sentence(now)
        return told

    def strong(self, now=SOME_MOMENT):
        return [need.strong for need in self.needs(now)]


@pytest.fixture
def told(store):
    return Told(store)


def job(key="checkout", count=2, **fields):
    group = make_task_group(count=count)
    return make_job(id=key, task_groups=(group,), status=JobStatus.RUNNING, **fields)


def counted(key="checkout", **counts):
    return JobSummary(job_id=key, summary={"web": TaskGroupSummary(**counts)})


def rollout(group, key="web", **fields):
    return Deployment(
        id=f"d-{key}", job_id=key, job_version=4, task_groups={"web": group}, **fields
    )


def test_two_hundred_lost_nodes_are_the_headline_whatever_else_waits(told):
    lost = [make_node(number, status=NodeStatus.DOWN) for number in range(200)]
    told.write(*lost, make_node(200), BLOCKED)
    first = told.needs()[0]
    assert first.strong == "200 of 201 nodes are lost"
    assert first.text == "node-0, node-1, node-10 and 197 more missed their heartbeats"
    assert told.followed.sentence(SOME_MOMENT) == (
        "200 of 201 nodes are lost:",
        f"{first.text}. 1 other thing may need a person.",
    )


def test_everything_is_ranked_once_worst_first(told, store):
    service = make_job(id="web")
    told.write(
        make_node(1, status=NodeStatus.DOWN),
        make_node(2),
        make_node(3, status=NodeStatus.INITIALIZING),
        make_node(5, status=NodeStatus.DISCONNECTED),
        make_node(4, scheduling_eligibility=NodeEligibility.INELIGIBLE),
        job(),
        counted(failed=6),
        rollout(STUCK, "search"),
        rollout(CANARIES, "shop"),
        service,
        make_allocation(service, node_id=make_node(2).id, client_status=ClientStatus.RUNNING),
        BLOCKED,
    )
    asked = DrainRequest(strategy=DrainStrategy())
    drain_node(store, make_node(2).id, asked, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs())
    assert told.strong() == [
        "node-1 is down",
        "checkout fails again and again",
        "Rollout of search version 4 makes no progress",
        "Rollout of shop version 4 waits for a person",
        "Drain of node-2 is held up",
        "1 evaluation waits for room",
        "node-5 is silent",
        "1 node has registered and has not reported ready",
        "node-4 is closed",
    ]


def test_a_silent_node_is_not_a_lost_one(told, store):
    told.write(
        make_node(1, status=NodeStatus.DISCONNECTED), make_node(2, status=NodeStatus.DISCONNECTED)
    )
    (need,) = told.needs()
    assert (need.strong, need.text, need.url) == (
        "2 nodes are silent",
        "node-1 and node-2 missed their heartbeats; their unknown allocations may still come back",
        "/nodes/?status=disconnected",
    )
    assert store.read(lambda reader: reader.node_tally())["lost"] == 0
    told.write(make_node(1, status=NodeStatus.DOWN))
    assert told.strong() == ["node-1 is down", "node-2 is silent"]
    assert store.read(lambda reader: reader.node_tally())["lost"] == 1


def test_a_crash_loop_is_shown_and_its_job_is_not_running(told, store):
    told.write(job(), counted(failed=6))
    (need,) = told.needs()
    assert (need.strong, need.text, need.tone) == (
        "checkout fails again and again",
        "0 of 2 running and 6 failed so far",
        "failed",
    )
    (line,) = store.read(lambda reader: job_lines(reader, [*reader.jobs()]))
    assert line.status == "failing"
    assert label_for("job", line.status).tone == "failed"


@pytest.mark.parametrize(
    ("counts", "fields", "is_told"),
    [
        pytest.param({"running": 2, "failed": 6}, {}, False, id="has-recovered"),
        pytest.param({"failed": 2, "starting": 2}, {}, True, id="starts-once-more"),
        pytest.param({"running": 1, "starting": 1, "failed": 2}, {}, False, id="grows"),
        pytest.param({"queued": 2, "failed": 1}, {}, False, id="waits-for-room"),
        pytest.param({"failed": 6}, {"stop": True}, False, id="stopped"),
        pytest.param({"failed": 6}, {"type": "batch"}, True, id="batch"),
        pytest.param({"complete": 2, "failed": 6}, {"type": "batch"}, False, id="batch-is-done"),
    ],
)
def test_only_what_failures_keep_from_running_fails(told, counts, fields, is_told):
    told.write(job(**fields), counted(**counts))
    assert any("fails" in need.strong for need in told.needs()) is is_told


def test_a_task_that_is_restarted_again_and_again_is_a_crash_loop_too(told):
    waits = job(count=1)
    alloc = make_allocation(
        waits,
        client_status=ClientStatus.PENDING,
        task_states={"web": TaskState(state="pending", restarts=3)},
    )
    told.write(waits, counted(starting=1), alloc)
    (need,) = told.needs()
    assert (need.strong, need.text) == (
        "checkout fails again and again",
        "0 of 1 running and 1 restarted again and again",
    )
    told.write(counted(running=1), alloc.changed(client_status=ClientStatus.RUNNING))
    assert told.needs() == []


def test_canaries_that_wait_need_a_person_and_paused_rollouts_do_not(told):
    told.write(rollout(CANARIES))
    (need,) = told.needs()
    assert (need.text, need.action) == ("5 healthy canaries to promote", "Review canaries")
    told.write(rollout(CANARIES, status=DeploymentStatus.PAUSED))
    assert told.needs() == []


def test_a_rollout_is_stuck_when_half_its_time_has_passed(told):
    told.write(rollout(STUCK))
    began = SOME_MOMENT - 9 * MINUTE
    assert told.strong(began + MINUTE) == []
    turns_at = began + 5 * MINUTE
    assert told.followed.becomes_stuck(turns_at - 1, turns_at)
    (need,) = told.needs(turns_at)
    assert need.text == (
        "3 of 12 healthy; it fails at 15:07:40, then a stable version comes back, if one is kept"
    )


def test_a_drain_needs_nobody_until_something_holds_it_up(told, store):
    service = make_job(id="web")
    alloc = make_allocation(service, node_id=make_node(1).id, client_status=ClientStatus.RUNNING)
    told.write(make_node(1), service, alloc)
    asked = DrainRequest(strategy=DrainStrategy())
    drain_node(store, make_node(1).id, asked, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs())
    assert told.needs() == []
    told.write(BLOCKED)
    assert told.needs()[0].text == (
        "web.web[0] finds no room elsewhere: memory is exhausted on 4 nodes"
    )
    told.write(alloc.changed(client_status=ClientStatus.COMPLETE))
    assert told.strong() == ["1 evaluation waits for room"]


def test_what_rests_needs_nobody(told, store):
    register_job(
        store,
        JobRegistration(job=make_job(id="web")),
        by=MANAGER,
        now=SOME_MOMENT,
        ids=CountingIDs(),
    )
    told.write(make_node(1))
    assert store.read(lambda reader: reader.job(JobKey("default", "web"))) is not None
    assert told.needs() == []


def test_a_service_that_stays_short_without_a_failure_needs_a_person(told):
    told.write(job(), counted(running=1))
    (need,) = told.needs()
    assert (need.strong, need.text, need.action) == (
        "checkout stays short of allocations",
        "1 of 2 running, and nothing is under way that would change it",
        "See why",
    )
    assert need.url == "/jobs/default/checkout/"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda: [job(), counted(running=2)], id="has-enough"),
        pytest.param(lambda: [job(), counted(running=1, starting=1)], id="one-starts"),
        pytest.param(lambda: [job(), counted(running=1, unknown=1)], id="one-may-come-back"),
        pytest.param(lambda: [job(stop=True), counted()], id="stopped"),
        pytest.param(lambda: [job(type="batch"), counted(running=1)], id="batch-ends-by-itself"),
        pytest.param(
            lambda: [job(), counted(running=1), make_evaluation(8, job_id="checkout")],
            id="an-evaluation-looks-at-it",
        ),
        pytest.param(
            lambda: [
                job(), counted(running=1),
                Deployment(id="d", job_id="checkout", status=DeploymentStatus.RUNNING),
            ],
            id="its-rollout-goes-on",
        ),
        pytest.param(lambda: [job(), counted(running=1, failed=3)], id="told-as-one-that-fails"),
    ],
)  # fmt: skip
def test_a_service_is_not_short_while_something_is_under_way_or_told(told, values):
    told.write(*values())
    assert [need for need in told.strong() if "stays short" in need] == []
