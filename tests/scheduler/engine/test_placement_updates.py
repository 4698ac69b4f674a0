"""Rows of placement about new versions of a job: what stays, what is placed anew, and where."""

import msgspec
import pytest

from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.constraint import Constraint, Spread
from scheduler.structs.job import Job
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.plan import Plan
from scheduler.structs.policies import HOUR, SECOND, ReschedulePolicy
from scheduler.structs.resources import AllocatedSharedResources
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

NODE, OTHER = make_node(1), make_node(2)
PENALTY = "node-reschedule-penalty"


def next_version(old: Job, **fields: object) -> Job:
    """The version after; fields of the group by their names."""
    of_group = {
        name: fields.pop(name) for name in ("constraints", "spreads", "tasks") if name in fields
    }
    group = msgspec.structs.replace(old.task_groups[0], **of_group)
    return msgspec.structs.replace(
        old,
        version=old.version + 1,
        job_modify_index=old.job_modify_index + 30,
        task_groups=(group,),
        **fields,
    )


def running(of: Job, number: int = 0, **fields: object) -> Allocation:
    return make_allocation(
        of, number, **{"node_id": NODE.id, "client_status": ClientStatus.RUNNING, **fields}
    )


def planned(*rows: object) -> list[Plan]:
    cluster = Cluster().put(*rows)
    cluster.run(make_evaluation())
    return cluster.plans


def flat(by_node: dict[str, tuple[Allocation, ...]]) -> list[Allocation]:
    return [alloc for part in by_node.values() for alloc in part]


def test_t81_an_update_in_place_keeps_its_ports():
    port = Port(label="http", host_network="default")
    network = NetworkResource(mode="host", dynamic_ports=(port,))
    old = make_job(task_groups=(make_task_group(networks=(network,)),))
    shared = AllocatedSharedResources(
        networks=(network,),
        ports=(AllocatedPort(label="http", value=21_234, host_ip="10.0.0.2"),),
    )
    alloc = running(old)
    alloc = alloc.changed(
        allocated_resources=msgspec.structs.replace(alloc.allocated_resources, shared=shared)
    )
    (plan,) = planned(NODE, old, next_version(old, priority=70), alloc)
    (changed,) = flat(plan.node_allocation)
    assert (changed.id, changed.job_version) == (alloc.id, 1)
    assert changed.allocated_resources.shared.ports == shared.ports
    assert plan.node_update == {}


IS_OTHER = Constraint(l_target="${meta.x}", operand="=", r_target="1")


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        pytest.param({"datacenters": ("dc9",)}, False, id="T81-another-datacenter"),
        pytest.param({"node_pool": "own"}, False, id="T81-another-pool"),
        pytest.param({"datacenters": ("dc*",)}, True, id="T81-a-pattern-that-includes-it"),
        pytest.param({"constraints": (IS_OTHER,)}, False, id="T81-the-node-does-not-do-any-more"),
    ],
)
def test_an_alloc_stays_only_where_its_job_may_run(changes, stays):
    elsewhere = msgspec.structs.replace(
        OTHER,
        datacenter="dc9" if "datacenters" in changes and not stays else "dc1",
        node_pool=changes.get("node_pool", "default"),
        meta={"x": "1"},
        computed_class="v1:2",
    )
    old = make_job()
    (plan,) = planned(NODE, elsewhere, old, next_version(old, **changes), running(old))
    (alloc,) = flat(plan.node_allocation)
    assert [stop.id for stop in flat(plan.node_update)] == ([] if stays else [running(old).id])
    assert (alloc.id == running(old).id, alloc.node_id) == (
        stays,
        NODE.id if stays else elsewhere.id,
    )


def failed_before(of: Job) -> Allocation:
    return running(of, client_status=ClientStatus.FAILED, modify_time=SOME_MOMENT - HOUR)


def test_t82_a_node_that_failed_is_penalised_until_the_job_changes():
    policy = ReschedulePolicy(
        attempts=3, interval=24 * HOUR, delay=5 * SECOND, delay_function="constant"
    )
    job = make_job(task_groups=(make_task_group(reschedule_policy=policy),))
    cluster = Cluster().put(NODE, OTHER, job, failed_before(job))
    cluster.run(make_evaluation())
    (replacement,) = [
        one for one in flat(cluster.plans[-1].node_allocation) if one.previous_allocation
    ]
    assert replacement.node_id == OTHER.id
    assert penalties(replacement) == {NODE.id: -1.0, OTHER.id: 0.0}

    # The history of what a new version replaces still counts; what it places has none.
    first = updated(cluster, job, replacement, "first")
    assert (penalties(first)[NODE.id], first.reschedule_tracker) == (-1.0, None)
    second = updated(cluster, next_version(job), first, "second")
    assert penalties(second) == {NODE.id: 0.0, OTHER.id: 0.0}


def updated(cluster: Cluster, job: Job, alloc: Allocation, user: str) -> Allocation:
    """What replaces the allocation, once it runs, under the version after the job's."""
    after = next_version(job, tasks=(make_task(user=user),))
    cluster.put(alloc.changed(client_status=ClientStatus.RUNNING), after)
    cluster.run(make_evaluation(1 + after.version))
    (renewed,) = [
        one
        for one in flat(cluster.plans[-1].node_allocation)
        if one.previous_allocation == alloc.id
    ]
    return renewed


def penalties(alloc: Allocation) -> dict[str, float]:
    return {row.node_id: row.scores[PENALTY] for row in alloc.metrics.score_meta_data}


def test_t68_a_version_without_spreads_replaces_one_that_had_them():
    spread = Spread(attribute="${node.datacenter}", weight=100)
    old = make_job(task_groups=(make_task_group(count=2, spreads=(spread,)),), spreads=(spread,))
    new = next_version(old, spreads=(), tasks=(make_task(user="other"),))
    new = msgspec.structs.replace(new, spreads=())
    (plan,) = planned(NODE, OTHER, old, new, running(old, 0), running(old, 1, node_id=OTHER.id))
    placed = flat(plan.node_allocation)
    assert [alloc.job_version for alloc in placed] == [1, 1]
    assert all(
        "allocation-spread" not in row.scores
        for alloc in placed
        for row in alloc.metrics.score_meta_data
    )
