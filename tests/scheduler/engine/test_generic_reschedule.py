"""Rows of the generic scheduler's scenarios: what failed, and when it is replaced."""

import pytest

from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DesiredTransition,
    RescheduleEvent,
    RescheduleTracker,
    TaskState,
)
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.policies import HOUR, MINUTE, SECOND, ReschedulePolicy, UpdateStrategy
from tests.builders import SOME_MOMENT, make_evaluation, make_node
from tests.scheduler.engine.rows import (
    DONE,
    NODES,
    ended,
    job_of,
    placements,
    rollout,
    running,
    stops,
    updates,
)
from tests.scheduler.engine.runs import Cluster

CONSTANT = {"interval": HOUR, "delay": 5 * SECOND, "delay_function": "constant"}
ONCE = ReschedulePolicy(attempts=1, **CONSTANT)


def failure(number: int) -> Evaluation:
    return make_evaluation(number, triggered_by="alloc-failure")


def failed(job: Job, *, at: int, **fields: object) -> Allocation:
    """The first allocation of a job, whose task ended at this moment."""
    ending = {"web": TaskState(state="dead", failed=True, finished_at=at)}
    (alloc,) = running(job, 0, client_status=ClientStatus.FAILED, task_states=ending, **fields)
    return alloc


def fails(cluster: Cluster, alloc: Allocation, *, at: int) -> Allocation:
    """Let a stored allocation fail."""
    stored = cluster.store.allocation(alloc.id)
    assert stored is not None
    ending = {"web": TaskState(state="dead", failed=True, finished_at=at)}
    after = stored.changed(client_status=ClientStatus.FAILED, task_states=ending)
    cluster.put(after)
    return after


def tracker_of(*ago: int, delay: int = 5 * SECOND) -> RescheduleTracker:
    """A history with events so long ago."""
    return RescheduleTracker(
        events=tuple(RescheduleEvent(SOME_MOMENT - span, delay=delay) for span in ago)
    )


def test_g35_a_replacement_remembers_whom_it_replaces_and_is_the_last():
    job = job_of(reschedule_policy=ONCE)
    first = failed(job, at=SOME_MOMENT - 10 * SECOND)
    cluster = Cluster().put(*NODES, job, first)
    assert ended(cluster.run(failure(1))) == DONE
    (second,) = placements(cluster.plans[0])
    (event,) = second.reschedule_tracker.events
    assert (event.prev_alloc_id, event.prev_node_id) == (first.id, first.node_id)
    assert second.previous_allocation == first.id

    fails(cluster, second, at=SOME_MOMENT)
    cluster.run(failure(2), now=SOME_MOMENT + 10 * SECOND)
    assert len(cluster.plans) == 1


def test_g36_what_failed_just_now_waits_for_its_delay():
    job = job_of(reschedule_policy=ReschedulePolicy(attempts=1, interval=HOUR, delay=15 * SECOND))
    alloc = failed(job, at=SOME_MOMENT)
    cluster = Cluster().put(*NODES, job, alloc)
    outcome = cluster.run(failure(1))
    (followup,) = outcome.created
    assert (followup.status, followup.wait_until) == (
        EvalStatus.PENDING,
        SOME_MOMENT + 15 * SECOND,
    )
    assert followup.previous_eval == failure(1).id
    assert outcome.evaluation.next_eval == followup.id
    (plan,) = cluster.plans
    assert stops(plan) == placements(plan) == []
    assert cluster.store.allocation(alloc.id).followup_eval_id == followup.id


def test_g37_three_attempts_are_three_replacements():
    job = job_of(reschedule_policy=ReschedulePolicy(attempts=3, **CONSTANT))
    alloc = failed(job, at=SOME_MOMENT - 10 * SECOND)
    cluster = Cluster().put(*NODES, job, alloc)
    lengths = []
    for number in range(1, 5):
        now = SOME_MOMENT + number * MINUTE
        cluster.run(failure(number), now=now)
        for plan in cluster.plans[len(lengths) :]:
            (alloc,) = placements(plan)
            lengths.append(len(alloc.reschedule_tracker.events))
            fails(cluster, alloc, at=now)
    assert lengths == [1, 2, 3]


def test_g38_what_finds_no_room_when_its_time_comes_keeps_its_history():
    # Too large for what is left of its own node, and that is the only one.
    job = job_of(cpu=3000, reschedule_policy=ReschedulePolicy(attempts=3, **CONSTANT))
    other = job_of(cpu=3000, job={"id": "other"})
    followup = make_evaluation(2, triggered_by="alloc-reschedule", wait_until=SOME_MOMENT)
    alloc = failed(
        job,
        at=SOME_MOMENT - 5 * SECOND,
        followup_eval_id=followup.id,
        reschedule_tracker=tracker_of(MINUTE),
    )
    cluster = Cluster().put(NODES[0], job, other, *running(other, 5), alloc)
    outcome = cluster.run(followup, now=SOME_MOMENT + 1)
    (plan,) = cluster.plans
    (kept,) = updates(plan)
    (blocked,) = outcome.created
    assert stops(plan) == placements(plan) == []
    assert (kept.id, kept.reschedule_tracker.last_reschedule) == (alloc.id, "no placement")
    assert (blocked.status, blocked.triggered_by) == (EvalStatus.BLOCKED, "queued-allocs")
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, True)

    cluster.put(NODES[1])
    assert ended(cluster.run(blocked, now=SOME_MOMENT + MINUTE)) == DONE
    (new,) = placements(cluster.plans[1])
    assert [event.prev_alloc_id for event in new.reschedule_tracker.events] == ["", alloc.id]
    assert cluster.store.allocation(alloc.id).next_allocation == new.id


@pytest.mark.parametrize(
    ("policy", "past", "kept", "delay"),
    [
        pytest.param(
            ReschedulePolicy(
                unlimited=True, delay=5 * SECOND, max_delay=HOUR, delay_function="fibonacci"
            ),
            [(3600 - number, delay) for number, delay in
             enumerate((5, 5, 10, 15, 25, 40, 65, 105))],
            [15, 25, 40, 65, 105],
            170,
            id="G39-fibonacci-without-a-limit",
        ),
        pytest.param(
            ReschedulePolicy(
                attempts=5,
                interval=HOUR,
                delay=5 * SECOND,
                max_delay=HOUR,
                delay_function="exponential",
            ),
            [(7200, 5), (4200, 10), (1800, 20), (600, 40)],
            [20, 40],
            80,
            id="G40-exponential-within-an-interval",
        ),
    ],
)  # fmt: skip
def test_the_history_that_is_handed_on_is_bounded(policy, past, kept, delay):
    job = job_of(reschedule_policy=policy)
    events = tuple(
        RescheduleEvent(SOME_MOMENT - ago * SECOND, f"past-{span}", delay=span * SECOND)
        for ago, span in past
    )
    alloc = failed(
        job,
        at=SOME_MOMENT - delay * SECOND,
        reschedule_tracker=RescheduleTracker(events=events),
    )
    cluster = Cluster().put(*NODES, job, alloc)
    assert ended(cluster.run(failure(1))) == DONE
    (new,) = placements(cluster.plans[0])
    *old, newest = new.reschedule_tracker.events
    assert [event.delay for event in old] == [span * SECOND for span in kept]
    assert newest == RescheduleEvent(SOME_MOMENT, alloc.id, alloc.node_id, delay * SECOND)


@pytest.mark.parametrize(
    ("wait_until", "triggers"),
    [
        pytest.param(0, ["queued-allocs", "alloc-reschedule"], id="at-once"),
        pytest.param(SOME_MOMENT - 1, ["queued-allocs"], id="delayed-itself"),
        pytest.param(SOME_MOMENT + MINUTE, [], id="delayed-and-before-its-time"),
    ],
)
def test_an_evaluation_that_was_delayed_makes_no_more_delayed_ones(wait_until, triggers):
    policy = ReschedulePolicy(unlimited=True, delay=HOUR, delay_function="constant")
    job = job_of(2, cpu=90_000, reschedule_policy=policy)
    cluster = Cluster().put(NODES[0], job, failed(job, at=SOME_MOMENT))
    outcome = cluster.run(make_evaluation(triggered_by="node-update", wait_until=wait_until))
    assert [made.triggered_by for made in outcome.created] == triggers
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, bool(triggers))


@pytest.mark.parametrize("is_asked_for", [False, True], ids=["G41-not-asked", "G41-asked-for"])
def test_within_a_deployment_only_what_it_asks_for_is_replaced(is_asked_for):
    job = job_of(2, reschedule_policy=ONCE, update=UpdateStrategy(max_parallel=2))
    alloc = failed(
        job,
        at=SOME_MOMENT - MINUTE,
        deployment_id="dep",
        desired_transition=DesiredTransition(reschedule=is_asked_for or None),
    )
    beside = running(job, 1, deployment_id="dep")
    under_way = rollout(job, state={"desired_total": 2, "placed_allocs": 2})
    cluster = Cluster().put(*NODES, job, alloc, *beside, under_way)
    cluster.run(failure(1))
    assert [
        new.previous_allocation for plan in cluster.plans for new in placements(plan)
    ] == [alloc.id] * is_asked_for  # fmt: skip


def test_g42_a_replacement_avoids_the_node_where_it_failed():
    # Binpack would choose the node where the failed one was: another job is there.
    job, other = job_of(reschedule_policy=ONCE), job_of(job={"id": "other"})
    alloc = failed(job, at=SOME_MOMENT - MINUTE)
    cluster = Cluster().put(*NODES[:2], job, other, *running(other, 5), alloc)
    cluster.run(failure(1))
    (new,) = placements(cluster.plans[0])
    assert (alloc.node_id, new.node_id) == (NODES[0].id, make_node(2).id)
