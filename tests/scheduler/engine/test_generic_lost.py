"""Rows of the generic scheduler's scenarios: nodes that are down, silent or drained."""

import pytest

from scheduler.structs.allocation import AllocState, ClientStatus, DeploymentHealth, DesiredStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeStatus
from scheduler.structs.policies import (
    MINUTE,
    SECOND,
    DisconnectStrategy,
    ReschedulePolicy,
    UpdateStrategy,
)
from tests.builders import SOME_MOMENT, make_evaluation, make_node
from tests.scheduler.engine.rows import (
    DONE,
    MIGRATE,
    NODES,
    ended,
    job_of,
    placements,
    rollout,
    running,
    stops,
    updates,
    version_after,
)
from tests.scheduler.engine.runs import Cluster

FREE = NODES[0]
DOWN = make_node(20, status=NodeStatus.DOWN)
AWAY = make_node(20, status=NodeStatus.DISCONNECTED)
DRAINING = make_node(
    20, drain_strategy=DrainStrategy(), scheduling_eligibility=NodeEligibility.INELIGIBLE
)
IN_A_MINUTE = ReschedulePolicy(unlimited=True, delay=MINUTE, delay_function="constant")
EVALUATION = make_evaluation(triggered_by="node-update")


@pytest.mark.parametrize(
    "desired",
    [
        pytest.param(DesiredStatus.STOP, id="G29-told-to-stop"),
        pytest.param(DesiredStatus.EVICT, id="G29-evicted"),
    ],
)
def test_what_a_down_node_was_told_to_end_is_lost(desired):
    job = job_of()
    (told,) = running(job, 5, node=DOWN, desired_status=desired)
    cluster = Cluster().put(FREE, DOWN, job, *running(job, 0), told)
    assert ended(cluster.run(EVALUATION)) == DONE
    (plan,) = cluster.plans
    (stop,) = stops(plan)
    assert (stop.id, stop.desired_status, stop.client_status) == (
        told.id,
        DesiredStatus.STOP,
        ClientStatus.LOST,
    )
    assert placements(plan) == []


def test_g30_an_alloc_that_is_to_move_is_stopped_as_it_is():
    job = job_of()
    (gone,) = running(job, 0, node=DOWN, desired_transition=MIGRATE)
    cluster = Cluster().put(FREE, DOWN, job, gone)
    cluster.run(EVALUATION)
    (stop,) = stops(cluster.plans[0])
    assert (stop.id, stop.client_status) == (gone.id, ClientStatus.RUNNING)


@pytest.mark.parametrize("status", [ClientStatus.LOST, ClientStatus.COMPLETE])
@pytest.mark.parametrize("free", [(), (FREE,)], ids=["G31-nowhere", "G31-a-free-node"])
def test_what_ended_on_a_down_node_is_replaced_where_there_is_room(free, status):
    job = job_of()
    cluster = Cluster().put(*free, DOWN, job, *running(job, 0, node=DOWN, client_status=status))
    outcome = cluster.run(EVALUATION)
    assert [len(placements(plan)) for plan in cluster.plans] == [1] * len(free)
    assert ended(outcome) == (EvalStatus.COMPLETE, 1 - len(free), not free)


def test_g32_what_failed_on_a_down_node_waits_for_its_time():
    job = job_of(reschedule_policy=IN_A_MINUTE)
    (failed,) = running(job, 0, node=DOWN, client_status=ClientStatus.FAILED)
    cluster = Cluster().put(FREE, DOWN, job, failed)
    outcome = cluster.run(EVALUATION)
    # A down node takes no such note (evaluations.md 9.3, row 4), so each attempt makes it anew.
    *followups, blocked = outcome.created
    assert blocked.triggered_by == "max-plan-attempts"
    assert [followup.wait_until for followup in followups] == [SOME_MOMENT + MINUTE] * 5
    for plan, followup in zip(cluster.plans, followups, strict=True):
        assert stops(plan) == placements(plan) == []
        assert [(alloc.id, alloc.followup_eval_id) for alloc in updates(plan)] == [
            (failed.id, followup.id)
        ]


STOPS_ITSELF = DisconnectStrategy(stop_on_client_after=SECOND)


def test_g33_a_node_that_stops_its_alloc_itself_is_given_the_time_for_it():
    job = job_of(disconnect=STOPS_ITSELF)
    (gone,) = running(job, 0, node=DOWN)
    cluster = Cluster().put(DOWN, job, gone)
    outcome = cluster.run(EVALUATION)
    (plan,) = cluster.plans
    (stop,) = stops(plan)
    (followup,) = outcome.created
    # The kill timeout, at least five seconds, is waited for as well.
    due = SOME_MOMENT + 6 * SECOND
    assert (stop.client_status, stop.followup_eval_id) == (ClientStatus.LOST, followup.id)
    assert (followup.status, followup.wait_until) == (EvalStatus.PENDING, due)
    assert ended(outcome)[2] is False

    again = cluster.put(FREE).run(followup, now=due)
    (new,) = placements(cluster.plans[1])
    assert (new.name, new.node_id) == (gone.name, FREE.id)
    assert (ended(again), again.created) == (DONE, ())


def test_g34_a_node_that_had_the_time_is_not_waited_for_again():
    job = job_of(disconnect=STOPS_ITSELF)
    lost = running(
        job,
        0,
        node=DOWN,
        desired_status=DesiredStatus.STOP,
        client_status=ClientStatus.LOST,
        alloc_states=(AllocState(value="lost", time=SOME_MOMENT - 10 * SECOND),),
    )
    cluster = Cluster().put(DOWN, job, *lost)
    outcome = cluster.run(EVALUATION)
    (blocked,) = outcome.created
    assert (blocked.status, blocked.triggered_by) == (EvalStatus.BLOCKED, "queued-allocs")
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, True)


BATCH = make_evaluation(type="batch", triggered_by="node-drain")


def test_g50_batch_work_that_succeeded_on_a_draining_node_is_not_done_again():
    job = job_of(job={"type": "batch"})
    done = running(job, 0, node=DRAINING, client_status=ClientStatus.COMPLETE)
    cluster = Cluster().put(FREE, DRAINING, job, *done)
    assert ended(cluster.run(BATCH)) == DONE
    assert cluster.plans == []


def test_g50_batch_work_of_an_older_version_leaves_a_draining_node():
    old = job_of(job={"type": "batch"})
    new = version_after(old, group={"meta": {"release": "2"}})
    (held,) = running(old, 0, node=DRAINING, desired_transition=MIGRATE)
    cluster = Cluster().put(FREE, DRAINING, old, held, new)
    assert ended(cluster.run(BATCH)) == DONE
    (plan,) = cluster.plans
    assert [stop.id for stop in stops(plan)] == [held.id]
    assert [(alloc.node_id, alloc.job_version) for alloc in placements(plan)] == [(FREE.id, 1)]


def disconnected(**strategy: object):
    job = job_of(
        disconnect=DisconnectStrategy(lost_after=5 * MINUTE, **strategy),
        reschedule_policy=IN_A_MINUTE,
    )
    cluster = Cluster().put(FREE, AWAY, job, *running(job, 0, node=AWAY))
    return cluster, cluster.run(EVALUATION)


def test_g52_a_node_that_stopped_answering_makes_its_allocs_unknown():
    cluster, outcome = disconnected(replace=False)
    (plan,) = cluster.plans
    (changed,) = updates(plan)
    (timeout,) = outcome.created
    assert stops(plan) == placements(plan) == []
    assert (changed.client_status, changed.alloc_states) == (
        ClientStatus.UNKNOWN,
        (AllocState(value="unknown", time=SOME_MOMENT),),
    )
    assert (timeout.triggered_by, timeout.wait_until, changed.followup_eval_id) == (
        "max-disconnect-timeout",
        SOME_MOMENT + 5 * MINUTE,
        timeout.id,
    )


def test_g53_an_alloc_that_is_replaced_later_waits_for_its_replacement():
    cluster, outcome = disconnected(replace=True)
    (changed,) = updates(cluster.plans[0])
    waits = {made.triggered_by: made for made in outcome.created}
    assert {trigger: made.wait_until for trigger, made in waits.items()} == {
        "max-disconnect-timeout": SOME_MOMENT + 5 * MINUTE,
        "alloc-reschedule": SOME_MOMENT + MINUTE,
    }
    assert changed.followup_eval_id == waits["alloc-reschedule"].id


def test_g57_a_canary_on_a_draining_node_moves_as_a_canary():
    update = UpdateStrategy(max_parallel=1, canary=1)
    old = job_of(2, update=update)
    new = version_after(old, group={"meta": {"release": "2"}})
    (canary,) = running(
        new,
        9,
        node=DRAINING,
        name="web.web[0]",
        deployment_id="dep",
        deployment_status=DeploymentHealth(canary=True),
        desired_transition=MIGRATE,
    )
    waiting = rollout(
        new, state={"desired_canaries": 1, "desired_total": 2, "placed_canaries": (canary.id,)}
    )
    cluster = Cluster().put(FREE, DRAINING, old, new, *running(old, 0, 1), canary, waiting)
    outcome = cluster.run(make_evaluation(triggered_by="node-drain"))
    (plan,) = cluster.plans
    (again,) = placements(plan)
    assert [stop.id for stop in stops(plan)] == [canary.id]
    assert (again.name, again.job_version, again.deployment_status) == (
        "web.web[0]",
        new.version,
        DeploymentHealth(canary=True),
    )
    assert outcome.evaluation.plan_annotations.desired_updates["web"].canary == 1
