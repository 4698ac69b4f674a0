"""Each trigger through the real operation: how many, priority, type, wait, links and cause.

Rows of evaluations.md 2, all eighteen; nodes are simulated clients.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.allocations import stop_allocation
from cluster.operations.deployments import promote_deployment
from cluster.operations.garbage import demand_collection
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.nodes import DrainRequest, drain_node, set_node_eligibility
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.simulation.catalogue import document
from cluster.simulation.clients import Client
from cluster.simulation.cluster import new_cluster
from scheduler.access.caller import CLUSTER
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.collection import CORE_TYPE
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.node import DrainStrategy
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from scheduler.structs.story import StoryKind

pytestmark = pytest.mark.simulation

SECOND = 1_000_000_000


class Site:
    """A cluster of two nodes that are ready."""

    def __init__(self, nodes: int = 2) -> None:
        self.cluster = new_cluster(nodes)
        self.cluster.begin_step(np.random.default_rng(1))
        self.plane = self.cluster.plane
        self.store = self.plane.store
        self.pass_time(2)

    @property
    def now(self) -> int:
        return self.plane.clock.now()

    @property
    def how(self) -> dict[str, object]:
        return {"by": CLUSTER, "now": self.now, "ids": self.plane.ids}

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.round(1.0)

    def register(self, kind: str, count: int = 2, revision: int = 0, **fields: object) -> Job:
        job = parse_job(document(kind, revision, count) | fields)
        register_job(self.store, JobRegistration(job=job), **self.how)
        return job

    def settled(self, kind: str, count: int = 2, **fields: object) -> JobKey:
        job = self.register(kind, count, **fields)
        self.pass_time(8)
        return job.key

    def running(self, key: JobKey) -> Allocation:
        rows = self.store.allocations_by_job(key)
        return next(row for row in rows if row.client_status is ClientStatus.RUNNING)

    def client_of(self, alloc: Allocation) -> Client:
        return next(each for each in self.cluster.clients if each.node.id == alloc.node_id)

    def of(self, trigger: EvalTrigger) -> list[Evaluation]:
        found = [row for row in self.store.evaluations() if row.triggered_by == trigger]
        return sorted(found, key=lambda row: row.create_index)


class Told(NamedTuple):
    """What is looked at of an evaluation."""

    job_id: str
    priority: int
    type: str
    #: Seconds that it waits, from its creation.
    wait: float
    cause: str
    #: The trigger of the one it follows, and whether that names it.
    follows: str = ""
    is_named: bool = False
    is_blocked: bool = False


def told(site: Site, row: Evaluation, *, was_blocked: bool = False) -> Told:
    before = site.store.evaluation(row.previous_eval)
    wait = row.wait / SECOND
    if row.wait_until:
        wait = (row.wait_until - row.create_time) / SECOND
    return Told(
        row.job_id,
        row.priority,
        row.type,
        round(wait, 1),
        row.cause.kind.value if row.cause else "",
        str(before.triggered_by) if before else "",
        before is not None and row.id in (before.next_eval, before.blocked_eval),
        was_blocked or row.status is EvalStatus.BLOCKED,
    )


def registered(site: Site) -> None:
    site.register("high")


def deregistered(site: Site) -> None:
    deregister_job(site.store, site.settled("night"), **site.how)


def launched(site: Site) -> None:
    site.register("clock", 1)
    site.pass_time(60)


def drained(site: Site) -> None:
    node_id = site.running(site.settled("web", 1)).node_id
    asked = DrainRequest(strategy=DrainStrategy(deadline=300 * SECOND))
    drain_node(site.store, node_id, asked, **site.how)
    site.pass_time(3)


def opened(site: Site) -> None:
    site.settled("logs")
    node_id = site.cluster.clients[0].node.id
    for eligibility in ("ineligible", "eligible"):
        set_node_eligibility(site.store, node_id, eligibility, **site.how)


def stopped_one(site: Site) -> None:
    stop_allocation(site.store, site.running(site.settled("low")).id, **site.how)


def rolled_by_stagger(site: Site) -> None:
    update = {"Strategy": "stagger", "Stagger": 20 * SECOND, "MaxParallel": 1}
    for revision in range(2):
        whole = document("logs", revision, 1)
        whole["TaskGroups"][0]["Update"] = update
        register_job(site.store, JobRegistration(job=parse_job(whole)), **site.how)
        site.pass_time(4)


def promoted(site: Site) -> None:
    key = site.settled("shop", 1)
    site.pass_time(5)
    before = len(site.of(EvalTrigger.DEPLOYMENT_WATCHER))
    site.register("shop", 1, revision=1)
    site.pass_time(8)
    # Its canary became healthy; the promotion is one more.
    newest = max(site.store.deployments_by_job(key), key=lambda row: row.create_index)
    steps = len(site.of(EvalTrigger.DEPLOYMENT_WATCHER))
    promote_deployment(site.store, newest.id, every_group=True, **site.how)
    assert len(site.of(EvalTrigger.DEPLOYMENT_WATCHER)) == steps + 1 > before + 1


def never_finished(site: Site) -> None:
    """Whoever takes it dies, three times."""
    site.register("web")
    site.plane.follow()
    for _ in range(200):
        (worker, *_) = site.cluster.workers
        deliveries = site.plane.leader.dequeue(worker.name, ("service",), 1, site.plane.moment)
        if deliveries:
            site.plane.leader.alive(
                worker.name,
                [each.evaluation.id for each in deliveries],
                monotonic=site.plane.clock.monotonic(),
            )
            site.cluster.workers[0] = site.cluster.new_worker()
        site.plane.tick(1.0)
        if site.of(EvalTrigger.FAILED_FOLLOW_UP):
            return


def never_accepted(site: Site) -> None:
    """Whatever is planned is refused: the nodes were closed after the worker looked."""
    old = site.store.snapshot()
    for client in site.cluster.clients:
        set_node_eligibility(site.store, client.node.id, "ineligible", **site.how)
    site.register("night")
    job = site.store.jobs()[0]
    site.cluster._snapshot = lambda index: _Older(old, job)  # type: ignore[method-assign]
    site.pass_time(30)


class _Older:
    """A snapshot in which the nodes are still open, and the job is there."""

    def __init__(self, old: object, job: Job) -> None:
        self._old, self._job = old, job

    def __getattr__(self, name: str) -> object:
        return getattr(self._old, name)

    def job(self, key: JobKey) -> Job | None:
        return self._job if key == self._job.key else None


def failed_one(site: Site) -> None:
    alloc = site.running(site.settled("night", 1))
    site.client_of(alloc).fail(alloc.id, site.now)
    site.pass_time(1)


def without_room(site: Site) -> None:
    site.register("high", 6)
    site.pass_time(5)


def preempted(site: Site) -> None:
    settings = SchedulerSettings(
        preemption_config=PreemptionConfig(service_scheduler_enabled=True)
    )
    set_scheduler_settings(site.store, settings, by=CLUSTER, now=site.now)
    site.settled("low", 4)
    site.register("high", 2)
    site.pass_time(3)


def scaled(site: Site) -> None:
    key = site.settled("night", 1)
    scale_job(site.store, key, ScalingRequest(task_group="main", count=3), **site.how)


def out_of_reach(site: Site) -> None:
    alloc = site.running(site.settled("edge", 1))
    site.client_of(alloc).go(online=False)
    site.pass_time(25)


def back_again(site: Site) -> None:
    out_of_reach(site)
    for client in site.cluster.clients:
        client.go(online=True)
    site.pass_time(3)


def failed_and_waits(site: Site) -> None:
    key = site.settled("low", 1)
    # Its rollout is over.
    site.pass_time(8)
    alloc = site.running(key)
    site.client_of(alloc).fail(alloc.id, site.now)
    site.pass_time(4)


ROWS: dict[EvalTrigger, tuple[Callable[[Site], None], list[Told]]] = {
    EvalTrigger.JOB_REGISTER: (registered, [Told("high", 90, "service", 0, "job")]),
    # Always the service scheduler, whatever the job was.
    EvalTrigger.JOB_DEREGISTER: (deregistered, [Told("night", 50, "service", 0, "job")]),
    EvalTrigger.NODE_DRAIN: (drained, [Told("web", 50, "service", 0, "drain")]),
    EvalTrigger.ALLOC_STOP: (stopped_one, [Told("low", 20, "service", 0, "operator")]),
    EvalTrigger.ROLLING_UPDATE: (
        rolled_by_stagger,
        [Told("logs", 70, "system", 20, "evaluation", "job-register", is_named=True)],
    ),
    EvalTrigger.ALLOC_FAILURE: (failed_one, [Told("night", 50, "batch", 0, "allocation")]),
    EvalTrigger.JOB_SCALING: (scaled, [Told("night", 50, "batch", 0, "job")]),
    EvalTrigger.PREEMPTION: (preempted, [Told("low", 20, "service", 0, "plan")]),
    EvalTrigger.MAX_DISCONNECT_TIMEOUT: (
        out_of_reach,
        [Told("edge", 50, "service", 60, "evaluation", "node-update")],
    ),
    EvalTrigger.RECONNECT: (back_again, [Told("edge", 50, "service", 0, "allocation")]),
    EvalTrigger.ALLOC_RESCHEDULE: (
        failed_and_waits,
        # Five seconds from the failure, of which two were over.
        [Told("low", 20, "service", 3, "evaluation", "alloc-failure", is_named=True)],
    ),
    EvalTrigger.QUEUED_ALLOCS: (
        without_room,
        [Told("high", 90, "service", 0, "evaluation", "job-register", True, True)],
    ),
    EvalTrigger.MAX_PLAN_ATTEMPTS: (
        never_accepted,
        [Told("night", 50, "batch", 0, "evaluation", "job-register", True, True)],
    ),
    # One for the health of the first rollout, one for that of the canary, one for the promotion.
    EvalTrigger.DEPLOYMENT_WATCHER: (
        promoted,
        [Told("shop", 50, "service", 0, "deployment")] * 3,
    ),
    EvalTrigger.NODE_UPDATE: (opened, [Told("logs", 70, "system", 0, "node")]),
    EvalTrigger.PERIODIC_JOB: (
        launched,
        [Told("clock/periodic-1750000020", 50, "batch", 0, "timer")],
    ),
}


#: The story of each row: kind, job, nodes, and the kind of the story that set it going.
STORY_OF: dict[EvalTrigger, list[tuple[StoryKind, str, int, str]]] = {
    EvalTrigger.JOB_REGISTER: [(StoryKind.ROLLOUT, "high", 0, "")],
    EvalTrigger.JOB_DEREGISTER: [(StoryKind.STOP, "night", 0, "")],
    EvalTrigger.NODE_DRAIN: [(StoryKind.DRAIN, "", 1, "")],
    EvalTrigger.ALLOC_STOP: [(StoryKind.STOP, "low", 0, "")],
    EvalTrigger.ROLLING_UPDATE: [(StoryKind.ROLLOUT, "logs", 0, "")],
    EvalTrigger.ALLOC_FAILURE: [(StoryKind.CRASH_LOOP, "night", 0, "rollout")],
    EvalTrigger.JOB_SCALING: [(StoryKind.SCALING, "night", 0, "")],
    EvalTrigger.PREEMPTION: [(StoryKind.PREEMPTION, "high", 0, "rollout")],
    EvalTrigger.MAX_DISCONNECT_TIMEOUT: [(StoryKind.LOSS, "", 1, "")],
    # At once: the node was hardly away.
    EvalTrigger.RECONNECT: [(StoryKind.LOSS, "", 1, "")],
    EvalTrigger.ALLOC_RESCHEDULE: [(StoryKind.CRASH_LOOP, "low", 0, "rollout")],
    EvalTrigger.QUEUED_ALLOCS: [(StoryKind.ROLLOUT, "high", 0, "")],
    EvalTrigger.MAX_PLAN_ATTEMPTS: [(StoryKind.ROLLOUT, "night", 0, "")],
    EvalTrigger.DEPLOYMENT_WATCHER: [(StoryKind.ROLLOUT, "shop", 0, "")] * 3,
    EvalTrigger.NODE_UPDATE: [(StoryKind.NODE_CHANGE, "", 1, "")],
    EvalTrigger.PERIODIC_JOB: [(StoryKind.LAUNCH, "clock/periodic-1750000020", 0, "")],
    EvalTrigger.FAILED_FOLLOW_UP: [(StoryKind.ROLLOUT, "web", 0, "")],
}


@pytest.mark.parametrize("trigger", STORY_OF, ids=str)
def test_a_trigger_is_part_of_this_story(trigger: EvalTrigger) -> None:
    happen = ROWS[trigger][0] if trigger in ROWS else never_finished
    site = Site()
    happen(site)
    found = []
    for row in site.of(trigger):
        story = site.store.story(row.story_id)
        assert story is not None
        parent = site.store.story(story.parent_id)
        found.append(
            (story.kind, story.job_id, story.node_count, parent.kind.value if parent else "")
        )
    assert found == STORY_OF[trigger]
    # Core evaluations are in no record, and part of nothing.
    assert set(STORY_OF) | {EvalTrigger.SCHEDULED} == set(EvalTrigger)


@pytest.mark.parametrize("trigger", ROWS, ids=str)
def test_a_trigger_makes_these_evaluations(trigger: EvalTrigger) -> None:
    happen, expected = ROWS[trigger]
    site = Site()
    happen(site)
    assert [told(site, row) for row in site.of(trigger)] == expected


def test_an_evaluation_given_up_three_times_is_followed_by_one_that_waits_some_minutes() -> None:
    site = Site()
    never_finished(site)
    (row,) = site.of(EvalTrigger.FAILED_FOLLOW_UP)
    seen = told(site, row)
    assert seen._replace(wait=0) == Told(
        "web", 50, "service", 0, "evaluation", "job-register", is_named=True
    )
    assert 60 <= seen.wait < 360


def test_a_demand_is_one_core_evaluation_that_is_never_stored() -> None:
    site = Site()
    demand_collection(site.store, by=CLUSTER, now=site.now)
    site.plane.tick(1.0)
    (delivery,) = site.plane.leader.dequeue("w", (CORE_TYPE,), 4, site.plane.moment)
    row = delivery.evaluation
    assert (row.triggered_by, row.type, row.namespace) == ("scheduled", "_core", "-")
    assert (row.priority, row.wait, row.previous_eval) == (32767, 0, "")
    assert site.of(EvalTrigger.SCHEDULED) == []


def test_every_trigger_has_its_row() -> None:
    alone = {EvalTrigger.FAILED_FOLLOW_UP, EvalTrigger.SCHEDULED}
    assert ROWS.keys() | alone == set(EvalTrigger)
