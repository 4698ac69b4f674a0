"""Rows of the generic scheduler's scenarios: an evaluation, the plans, what is left to do."""

import pytest

from scheduler.structs.allocation import ClientStatus, DesiredStatus, DesiredTransition
from scheduler.structs.computed_class import computed_class
from scheduler.structs.constraint import Constraint
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeStatus
from scheduler.structs.policies import (
    MINUTE,
    DisconnectStrategy,
    ReschedulePolicy,
    UpdateStrategy,
)
from scheduler.structs.resources import Resources
from scheduler.structs.task_group import EphemeralDisk
from tests.builders import (
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.scheduler.engine.runs import Cluster

NODES = tuple(make_node(number) for number in range(1, 11))
DOWN = make_node(20, status=NodeStatus.DOWN)
MIGRATE = DesiredTransition(migrate=True)


def job_of(count: int, *, cpu: int = 100, version: int = 0, **fields: object):
    """A service job of one group; fields of the group by their names, of the job in `job`."""
    of_job = fields.pop("job", {})
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(count=count, tasks=(task,), **fields)
    return make_job(task_groups=(group,), version=version, job_modify_index=10 + version, **of_job)


def running(job, *numbers: int, node=NODES[0], **fields: object):
    return [
        make_allocation(
            job,
            number,
            **{"node_id": node.id, "client_status": ClientStatus.RUNNING, **fields},
        )
        for number in numbers
    ]


def stops(plan):
    return [alloc for allocs in plan.node_update.values() for alloc in allocs]


def placements(plan):
    return [
        alloc
        for allocs in plan.node_allocation.values()
        for alloc in allocs
        if not alloc.create_index
    ]


def ended(outcome):
    evaluation = outcome.evaluation
    assert evaluation is not None
    return (
        evaluation.status,
        evaluation.queued_allocations.get("web"),
        bool(evaluation.blocked_eval),
    )


DONE = (EvalStatus.COMPLETE, 0, False)


def test_g01_ten_nodes_take_ten():
    cluster = Cluster().put(*NODES, job_of(10))
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert len(placements(plan)) == 10
    assert ended(outcome) == DONE
    assert outcome.created == ()


def test_g02_without_nodes_the_whole_job_waits():
    cluster = Cluster().put(job_of(10))
    outcome = cluster.run(make_evaluation())
    assert cluster.plans == []
    (blocked,) = outcome.created
    assert (blocked.triggered_by, blocked.previous_eval) == (
        "queued-allocs",
        make_evaluation().id,
    )
    assert ended(outcome) == (EvalStatus.COMPLETE, 10, True)
    assert outcome.evaluation.failed_task_groups["web"].coalesced_failures == 9
    assert outcome.explanations["web"].nearest_miss == "no node of pool default is ready"


def test_g03_the_blocked_evaluation_knows_which_classes_help():
    full, other = (
        make_node(
            number,
            attributes={**make_node(number).attributes, "kernel.name": kernel},
            computed_class="",
        )
        for number, kernel in ((1, "linux"), (2, "plan9"))
    )
    linux = Constraint(l_target="${attr.kernel.name}", operand="=", r_target="linux")
    cluster = Cluster().put(full, other, job_of(1, cpu=90_000, constraints=(linux,)))
    (blocked,) = cluster.run(make_evaluation()).created
    assert not blocked.escaped_computed_class
    assert blocked.class_eligibility == {
        computed_class(full): True,
        computed_class(other): False,
    }
    assert blocked.failed_task_groups["web"].nodes_available == {"dc1": 2}


def test_g04_a_group_that_finds_no_node_does_not_hold_the_other():
    small = make_task(resources=Resources(cpu=100, memory_mb=64))
    large = make_task(resources=Resources(cpu=90_000, memory_mb=64))
    groups = (
        make_task_group(count=2, tasks=(small,)),
        make_task_group(name="large", count=2, tasks=(large,)),
    )
    cluster = Cluster().put(*NODES, make_job(task_groups=groups))
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert [alloc.task_group for alloc in placements(plan)] == ["web", "web"]
    assert ended(outcome) == (EvalStatus.COMPLETE, 0, True)
    assert outcome.evaluation.failed_task_groups["large"].coalesced_failures == 1


@pytest.mark.parametrize(
    "evaluation",
    [
        pytest.param({}, id="G06-count-zero"),
        pytest.param(
            {"status": EvalStatus.BLOCKED, "triggered_by": "max-plan-attempts"},
            id="G07-blocked-and-count-zero",
        ),
    ],
)
def test_a_job_that_wants_nothing_submits_nothing(evaluation):
    cluster = Cluster().put(NODES[0], job_of(0))
    outcome = cluster.run(make_evaluation(**evaluation))
    assert cluster.plans == []
    assert ended(outcome)[0] is EvalStatus.COMPLETE


def test_g14_a_disk_that_fits_once_is_given_once():
    disk = make_node(1).node_resources.disk.disk_mb
    job = job_of(2, ephemeral_disk=EphemeralDisk(size_mb=disk * 2 // 3))
    cluster = Cluster().put(NODES[0], job)
    outcome = cluster.run(make_evaluation())
    assert len(placements(cluster.plans[0])) == 1
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, True)
    assert outcome.evaluation.failed_task_groups["web"].dimension_exhausted == {"disk": 1}


def test_g15_distinct_hosts_leaves_the_eleventh_waiting():
    distinct = Constraint(l_target="", operand="distinct_hosts", r_target="true")
    cluster = Cluster().put(*NODES, job_of(11, job={"constraints": (distinct,)}))
    outcome = cluster.run(make_evaluation())
    assert len({alloc.node_id for alloc in placements(cluster.plans[0])}) == 10
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, True)


@pytest.mark.parametrize(
    ("update", "number"),
    [
        pytest.param(None, 10, id="G16-without-an-update-block"),
        pytest.param(UpdateStrategy(max_parallel=4), 4, id="G17-four-at-a-time"),
    ],
)
def test_a_destructive_change_replaces_as_many_as_it_may(update, number):
    old = job_of(10, update=update)
    new = job_of(10, cpu=200, version=1, update=update)
    cluster = Cluster().put(*NODES, old, new, *running(old, *range(10)))
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert (len(stops(plan)), len(placements(plan))) == (number, number)
    assert ended(outcome)[0] is EvalStatus.COMPLETE
    if update is not None:
        assert plan.deployment.task_groups["web"].desired_total == 10
        assert outcome.evaluation.deployment_id == plan.deployment.id


def test_g19_canaries_come_first_and_stop_nobody():
    update = UpdateStrategy(max_parallel=2, canary=2)
    old, new = job_of(10, update=update), job_of(10, cpu=200, version=1, update=update)
    cluster = Cluster().put(*NODES, old, new, *running(old, *range(10)))
    cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert stops(plan) == []
    assert [alloc.deployment_status.canary for alloc in placements(plan)] == [True, True]
    (stored,) = cluster.store.deployments_by_job(new.key)
    state = stored.task_groups["web"]
    assert (state.desired_canaries, state.desired_total, len(state.placed_canaries)) == (2, 10, 2)


def test_g23_scaling_to_nothing_stops_what_still_runs():
    old, new = job_of(3), job_of(0, version=1)
    over = running(old, 8, 9, desired_status=DesiredStatus.STOP)
    cluster = Cluster().put(*NODES, old, new, *running(old, 0, 1, 2), *over)
    outcome = cluster.run(make_evaluation())
    assert len(stops(cluster.plans[0])) == 3
    assert placements(cluster.plans[0]) == []
    assert ended(outcome) == DONE


def test_g26_a_stopped_job_stops_everything():
    job = job_of(10, job={"stop": True})
    cluster = Cluster().put(*NODES, job, *running(job, *range(10)))
    outcome = cluster.run(make_evaluation(triggered_by="job-deregister"))
    assert len(stops(cluster.plans[0])) == 10
    assert ended(outcome) == DONE


@pytest.mark.parametrize(
    ("stop", "version", "description"),
    [
        pytest.param(True, 0, "Cancelled because job is stopped", id="G27-stopped"),
        pytest.param(False, 1, "Cancelled due to newer version of job", id="G28-newer"),
    ],
)
def test_the_deployment_of_what_is_over_is_cancelled(stop, version, description):
    update = UpdateStrategy(max_parallel=2)
    old = job_of(2, update=update)
    new = job_of(2, update=update, version=version, job={"stop": stop})
    under_way = Deployment(
        id="dep",
        job_id=old.id,
        job_create_index=old.create_index,
        task_groups={"web": GroupRollout(desired_total=2)},
        create_index=12,
    )
    cluster = Cluster().put(*NODES, old, new, under_way)
    cluster.run(make_evaluation())
    (update_,) = cluster.plans[0].deployment_updates
    assert (update_.status, update_.status_description) == ("cancelled", description)


def test_g30_an_alloc_that_is_to_move_is_stopped_as_it_is():
    job = job_of(1)
    (gone,) = running(job, 0, node=DOWN, desired_transition=MIGRATE)
    cluster = Cluster().put(NODES[0], DOWN, job, gone)
    cluster.run(make_evaluation(triggered_by="node-update"))
    (stop,) = stops(cluster.plans[0])
    assert stop.client_status is ClientStatus.RUNNING


@pytest.mark.parametrize("nodes", [(), (NODES[0],)], ids=["G31-nowhere", "G31-a-free-node"])
def test_what_a_down_node_lost_already_is_replaced_where_there_is_room(nodes):
    job = job_of(1)
    (lost,) = running(job, 0, node=DOWN, client_status=ClientStatus.LOST)
    cluster = Cluster().put(*nodes, DOWN, job, lost)
    cluster.run(make_evaluation(triggered_by="node-update"))
    assert sum(len(placements(plan)) for plan in cluster.plans) == len(nodes)


def test_g48_a_batch_job_that_is_complete_is_left_alone():
    job = job_of(1, job={"type": "batch"})
    (done,) = running(job, 0, client_status=ClientStatus.COMPLETE)
    cluster = Cluster().put(NODES[0], job, done)
    outcome = cluster.run(make_evaluation(type="batch"))
    assert cluster.plans == []
    assert ended(outcome)[0] is EvalStatus.COMPLETE


@pytest.mark.parametrize(("cpu", "queued"), [(100, 0), (90_000, 1)], ids=["G49-room", "G49-none"])
def test_a_failed_batch_alloc_is_replaced_if_there_is_room(cpu, queued):
    policy = ReschedulePolicy(attempts=1, interval=MINUTE * 600, delay=MINUTE)
    job = job_of(1, cpu=cpu, reschedule_policy=policy, job={"type": "batch"})
    (failed,) = running(
        job, 0, client_status=ClientStatus.FAILED, modify_time=SOME_MOMENT - 60 * MINUTE
    )
    cluster = Cluster().put(NODES[0], job, failed)
    outcome = cluster.run(make_evaluation(type="batch"))
    assert ended(outcome)[1] == queued


def test_g52_a_node_that_stopped_answering_makes_its_allocs_unknown():
    job = job_of(1, disconnect=DisconnectStrategy(lost_after=5 * MINUTE, replace=False))
    away = make_node(20, status=NodeStatus.DISCONNECTED)
    cluster = Cluster().put(NODES[0], away, job, *running(job, 0, node=away))
    outcome = cluster.run(make_evaluation(triggered_by="node-update"))
    ((changed,),) = cluster.plans[0].node_allocation.values()
    assert (changed.client_status, changed.alloc_states[-1].value) == (
        ClientStatus.UNKNOWN,
        "unknown",
    )
    (timeout,) = outcome.created
    assert (timeout.triggered_by, timeout.wait_until) == (
        "max-disconnect-timeout",
        SOME_MOMENT + 5 * MINUTE,
    )
