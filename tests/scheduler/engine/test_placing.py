"""Where service and batch placements go and what they carry: versions, histories, evictions."""

import msgspec
import pytest

from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    DesiredTransition,
    RescheduleEvent,
    RescheduleTracker,
)
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.policies import HOUR, SECOND, ReschedulePolicy, UpdateStrategy
from scheduler.structs.resources import Resources
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

POLICY = ReschedulePolicy(attempts=3, interval=HOUR, delay=5 * SECOND, delay_function="constant")
FIRST, SECOND_NODE = make_node(1), make_node(2)
DOWN = make_node(3, status=NodeStatus.DOWN)


def job_of(count: int, *, cpu: int = 500, **fields: object) -> Job:
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(count=count, tasks=(task,), reschedule_policy=POLICY)
    of_group = {name: fields.pop(name) for name in ("update", "ephemeral_disk") if name in fields}
    group = msgspec.structs.replace(group, **of_group)
    return make_job(task_groups=(group,), **fields)


def on(of: Job, number: int, node: Node, **fields: object) -> Allocation:
    defaults = {"client_status": ClientStatus.RUNNING, "node_id": node.id}
    return make_allocation(of, number, **{**defaults, **fields})


def placed(cluster: Cluster) -> list[Allocation]:
    return [
        alloc
        for plan in cluster.plans
        for part in plan.node_allocation.values()
        for alloc in part
        if not alloc.create_index
    ]


@pytest.mark.parametrize(
    ("first_update", "has_deployment", "version", "deployment_id"),
    [
        pytest.param(UpdateStrategy(max_parallel=1), True, 0, "old", id="the-promoted-version"),
        pytest.param(UpdateStrategy(), False, 0, "", id="a-version-without-an-update-block"),
        pytest.param(UpdateStrategy(max_parallel=1), False, 1, "new", id="else-the-new-version"),
    ],
)
def test_while_canaries_wait_lost_allocs_are_placed_from_the_version_before(
    first_update, has_deployment, version, deployment_id
):
    strategy = UpdateStrategy(max_parallel=1, canary=1)
    before = job_of(2, update=strategy)
    before = msgspec.structs.replace(before, update=first_update)
    after = msgspec.structs.replace(before, version=1, job_modify_index=40, update=strategy)
    canary = on(
        after,
        9,
        FIRST,
        name="web.web[0]",
        deployment_id="new",
        deployment_status=DeploymentHealth(canary=True),
    )
    waiting = Deployment(
        id="new",
        job_id="web",
        job_version=1,
        job_create_index=10,
        create_index=41,
        task_groups={"web": GroupRollout(desired_canaries=1, placed_canaries=(canary.id,))},
    )
    rows = [FIRST, DOWN, before, after, on(before, 0, FIRST), on(before, 1, DOWN), canary, waiting]
    if has_deployment:
        ended = GroupRollout(promoted=True)
        rows.append(
            Deployment(
                id="old",
                job_id="web",
                job_create_index=10,
                create_index=20,
                task_groups={"web": ended},
            )
        )
    cluster = Cluster().put(*rows)
    cluster.run(make_evaluation())
    (alloc,) = placed(cluster)
    assert (alloc.name, alloc.job_version, alloc.deployment_id) == (
        "web.web[1]",
        version,
        deployment_id,
    )


def failed_alloc(job: Job) -> Allocation:
    event = RescheduleEvent(reschedule_time=SOME_MOMENT - SECOND, prev_node_id=FIRST.id)
    return on(
        job,
        0,
        SECOND_NODE,
        client_status=ClientStatus.FAILED,
        modify_time=SOME_MOMENT - 60 * SECOND,
        reschedule_tracker=RescheduleTracker(events=(event,)),
    )


def test_a_replacement_carries_the_history_and_avoids_nodes_that_failed():
    job, third = job_of(1), make_node(4)
    cluster = Cluster().put(FIRST, SECOND_NODE, third, job, failed_alloc(job))
    cluster.run(make_evaluation())
    (alloc,) = placed(cluster)
    assert alloc.node_id == third.id
    tracker = alloc.reschedule_tracker
    assert tracker is not None
    assert (len(tracker.events), tracker.last_reschedule) == (2, "ok")
    ((stop,),) = cluster.plans[0].node_update.values()
    assert (stop.desired_description, stop.reschedule_tracker) == (
        "",
        msgspec.structs.replace(failed_alloc(job).reschedule_tracker, last_reschedule="ok"),
    )


def test_a_changed_alloc_that_finds_no_node_runs_on():
    before = job_of(1)
    group = msgspec.structs.replace(
        before.task_groups[0], tasks=(make_task(resources=Resources(cpu=9000)),)
    )
    after = msgspec.structs.replace(before, version=1, job_modify_index=40, task_groups=(group,))
    cluster = Cluster().put(FIRST, before, after, on(before, 0, FIRST))
    outcome = cluster.run(make_evaluation())
    assert cluster.plans == []
    assert outcome.evaluation is not None
    assert outcome.evaluation.failed_task_groups.keys() == {"web"}


def test_a_name_held_twice_is_given_away_once():
    job = job_of(3)
    moving = on(job, 0, FIRST, desired_transition=DesiredTransition(migrate=True))
    namesake = on(job, 7, FIRST, name="web.web[0]")
    cluster = Cluster().put(FIRST, job, moving, namesake)
    cluster.run(make_evaluation())
    names = [alloc.name for alloc in placed(cluster)]
    assert len(set(names)) == len(names)
    assert "web.web[0]" not in names


def test_t81_an_update_in_place_keeps_what_it_holds_and_takes_the_new_version():
    before = job_of(1)
    group = msgspec.structs.replace(before.task_groups[0], meta={})
    after = msgspec.structs.replace(
        before, version=1, priority=70, job_modify_index=40, task_groups=(group,)
    )
    alloc = on(before, 0, FIRST)
    cluster = Cluster().put(FIRST, before, after, alloc)
    cluster.run(make_evaluation())
    ((changed,),) = cluster.plans[0].node_allocation.values()
    assert (changed.id, changed.job_version, changed.job_priority) == (alloc.id, 1, 70)
    assert changed.allocated_resources == alloc.allocated_resources
    assert changed.eval_id == make_evaluation().id


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        pytest.param({"datacenters": ("elsewhere", "dc1")}, None, id="still-included"),
        pytest.param({}, HOUR, id="only-the-run-limit"),
    ],
)
def test_changes_that_need_no_new_tasks_stay_in_place(change, limit):
    before = job_of(1)
    group = msgspec.structs.replace(before.task_groups[0], max_run_duration=limit)
    after = msgspec.structs.replace(
        before, version=1, job_modify_index=40, task_groups=(group,), **change
    )
    cluster = Cluster().put(FIRST, before, after, on(before, 0, FIRST))
    cluster.run(make_evaluation())
    assert placed(cluster) == []
    assert cluster.plans[0].node_update == {}


def test_t81_a_job_that_leaves_a_datacenter_is_placed_anew():
    before = job_of(1)
    there = make_node(5, datacenter="dc2")
    after = msgspec.structs.replace(before, version=1, job_modify_index=40, datacenters=("dc2",))
    cluster = Cluster().put(FIRST, there, before, after, on(before, 0, FIRST))
    cluster.run(make_evaluation())
    (alloc,) = placed(cluster)
    assert alloc.node_id == there.id
