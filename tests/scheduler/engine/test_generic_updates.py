"""Rows of the generic scheduler's scenarios: a job that changed, in place or by replacement."""

from collections import Counter

import pytest
from msgspec.structs import replace

from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation, ClientStatus, DeploymentHealth, DesiredStatus
from scheduler.structs.job import Job
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.node import DriverInfo, NodeEligibility, NodeStatus
from scheduler.structs.policies import HOUR, UpdateStrategy
from scheduler.structs.resources import Resources
from scheduler.structs.task_group import EphemeralDisk
from tests.builders import granted, make_evaluation, make_node, make_task
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
    version_after,
)
from tests.scheduler.engine.runs import Cluster

DOWN = make_node(20, status=NodeStatus.DOWN)
OTHER_TASK = {"tasks": (make_task(user="other", resources=Resources(cpu=100, memory_mb=64)),)}


def live(cluster: Cluster, job: Job) -> list[Allocation]:
    found = cluster.store.allocations_by_job(job.key)
    return [alloc for alloc in found if not alloc.is_terminal]


@pytest.mark.parametrize(
    ("update", "number"),
    [
        pytest.param(None, 10, id="G16-without-an-update-block"),
        pytest.param(UpdateStrategy(max_parallel=4), 4, id="G17-four-at-a-time"),
    ],
)
def test_a_destructive_change_replaces_as_many_as_it_may(update, number):
    old = job_of(10, update=update)
    new = version_after(old, group=OTHER_TASK)
    cluster = Cluster().put(*NODES, old, new, *running(old, *range(10)))
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert (len(stops(plan)), len(placements(plan))) == (number, number)
    assert ended(outcome) == DONE
    deployments = [
        (stored.id, stored.task_groups["web"].desired_total)
        for stored in cluster.store.deployments_by_job(new.key)
    ]
    named = outcome.evaluation.deployment_id
    assert deployments == ([(named, 10)] if update else [])


def test_g18_what_a_full_node_gives_back_is_room_for_the_others():
    update = UpdateStrategy(max_parallel=5)
    old = job_of(1, cpu=3900, update=update)
    smaller = make_task(resources=Resources(cpu=700, memory_mb=64))
    new = version_after(old, group={"count": 5, "tasks": (smaller,)})
    cluster = Cluster().put(NODES[0], old, new, *running(old, 0))
    assert ended(cluster.run(make_evaluation())) == DONE
    (plan,) = cluster.plans
    assert (len(stops(plan)), len(placements(plan))) == (1, 5)
    state = plan.deployment.task_groups["web"]
    assert (state.desired_total, state.desired_canaries) == (5, 0)


def test_g19_canaries_come_first_and_stop_nobody():
    old = job_of(10, update=UpdateStrategy(max_parallel=2, canary=2))
    new = version_after(old, group=OTHER_TASK)
    cluster = Cluster().put(*NODES, old, new, *running(old, *range(10)))
    cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert stops(plan) == []
    assert [alloc.deployment_status.canary for alloc in placements(plan)] == [True, True]
    (stored,) = cluster.store.deployments_by_job(new.key)
    state = stored.task_groups["web"]
    assert (state.desired_canaries, state.desired_total) == (2, 10)
    assert set(state.placed_canaries) == {alloc.id for alloc in placements(plan)}


def with_ports(job: Job) -> dict[str, object]:
    """What an allocation of the job holds, with a port of its group and one of its task."""
    held = granted(job.task_groups[0])
    ports = (AllocatedPort(label="http", value=21_000, host_ip="10.0.0.2"),)
    network = NetworkResource(device="eth0", ip="10.0.0.2", dynamic_ports=(Port("admin", 22_000),))
    task = replace(held.tasks["web"], networks=(network,))
    shared = replace(held.shared, ports=ports, networks=(network,))
    return {"allocated_resources": replace(held, tasks={"web": task}, shared=shared)}


def test_g20_an_update_in_place_joins_the_deployment_and_keeps_its_ports():
    old = job_of(10, update=UpdateStrategy(max_parallel=10))
    new = version_after(old, group={}, priority=70)
    before = running(
        old,
        *range(10),
        deployment_id="before",
        deployment_status=DeploymentHealth(healthy=True),
        **with_ports(old),
    )
    cluster = Cluster().put(*NODES, old, new, *before)
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert (stops(plan), placements(plan)) == ([], [])
    assert {alloc.id: alloc for alloc in updates(plan)} == {
        alloc.id: alloc.changed(
            eval_id=make_evaluation().id,
            job_version=1,
            job_priority=70,
            deployment_id=outcome.evaluation.deployment_id,
            deployment_status=None,
        )
        for alloc in before
    }


def test_g21_only_a_changed_run_limit_touches_nothing_else():
    old = job_of(job={"type": "batch"}, max_run_duration=HOUR)
    new = version_after(old, group={"max_run_duration": 2 * HOUR})
    # A node that would not do any more: that is not asked.
    sick = make_node(1, drivers={"mock_driver": DriverInfo(detected=True, healthy=False)})
    (before,) = running(old, 0, **with_ports(old))
    cluster = Cluster().put(sick, old, new, before)
    assert ended(cluster.run(make_evaluation(type="batch"))) == DONE
    (plan,) = cluster.plans
    assert stops(plan) == []
    assert updates(plan) == [before.changed(eval_id=make_evaluation().id, job_version=1)]


def test_g22_a_job_that_leaves_a_datacenter_moves_from_there_only():
    there = make_node(30, datacenter="dc2")
    old = job_of(4, job={"datacenters": ("dc1", "dc2")})
    new = version_after(old, group={}, datacenters=("dc1",))
    left, kept = running(old, 0, 1, node=there), running(old, 2, 3)
    cluster = Cluster().put(NODES[0], there, old, new, *left, *kept)
    cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert [alloc.id for alloc in stops(plan)] == [alloc.id for alloc in left]
    assert [alloc.id for alloc in updates(plan)] == [alloc.id for alloc in kept]
    assert {alloc.node_id for alloc in placements(plan)} == {NODES[0].id}


def test_g24_a_changed_job_ends_a_name_that_was_held_twice():
    old = job_of(4)
    new = version_after(old, group=OTHER_TASK)
    twice = running(old, 7, name="web.web[1]")
    cluster = Cluster().put(*NODES, old, new, *running(old, 0, 1, 3), *twice)
    cluster.run(make_evaluation())
    assert Counter(alloc.name for alloc in live(cluster, new)) == {
        f"web.web[{index}]": 1 for index in range(4)
    }


@pytest.mark.parametrize(
    ("disk", "change", "stays"),
    [
        pytest.param(EphemeralDisk(sticky=True), {}, True, id="G43-sticky"),
        pytest.param(EphemeralDisk(migrate=True), {}, True, id="G43-migrating"),
        pytest.param(EphemeralDisk(), {}, False, id="G43-neither"),
        pytest.param(
            EphemeralDisk(sticky=True), {"datacenters": ("dc*",)}, False, id="G43-datacenters"
        ),
        pytest.param(EphemeralDisk(sticky=True), {"node_pool": "all"}, False, id="G43-pool"),
    ],
)
def test_a_replacement_stays_with_its_data_while_the_job_goes_to_the_same_nodes(
    disk, change, stays
):
    old, other = job_of(ephemeral_disk=disk), job_of(job={"id": "other"})
    new = version_after(old, group=OTHER_TASK, **change)
    held = running(old, 0, node=NODES[1])
    # Binpack would choose the first node: it holds another job already.
    cluster = Cluster().put(*NODES[:2], other, old, new, *held, *running(other, 5))
    cluster.run(make_evaluation())
    (alloc,) = placements(cluster.plans[0])
    assert alloc.node_id == NODES[1 if stays else 0].id


def test_a_replacement_leaves_its_data_behind_where_no_new_work_is_taken():
    old = job_of(ephemeral_disk=EphemeralDisk(sticky=True))
    new = version_after(old, group=OTHER_TASK)
    closed = replace(NODES[1], scheduling_eligibility=NodeEligibility.INELIGIBLE)
    cluster = Cluster().put(NODES[0], closed, old, new, *running(old, 0, node=closed))
    cluster.run(make_evaluation())
    (alloc,) = placements(cluster.plans[0])
    assert alloc.node_id == NODES[0].id


def test_g44_only_what_replaces_somebody_names_a_predecessor():
    old = job_of(3)
    new = version_after(old, group={**OTHER_TASK, "count": 5})
    cluster = Cluster().put(*NODES, old, new, *running(old, 0, 1, 2))
    cluster.run(make_evaluation())
    before = {alloc.name: alloc.id for alloc in running(old, 0, 1, 2)}
    assert {alloc.name: alloc.previous_allocation for alloc in placements(cluster.plans[0])} == {
        **before,
        "web.web[3]": "",
        "web.web[4]": "",
    }


def test_g45_beside_an_unpromoted_canary_the_old_version_is_kept_up():
    old = job_of(2, update=UpdateStrategy(max_parallel=1, canary=1))
    new = version_after(old, group=OTHER_TASK)
    (canary,) = running(
        new,
        9,
        name="web.web[0]",
        deployment_id="new",
        deployment_status=DeploymentHealth(canary=True),
    )
    waiting = rollout(
        new, id="new", state={"desired_canaries": 1, "placed_canaries": (canary.id,)}
    )
    ended_before = rollout(old, id="old", status="successful", state={"promoted": True})
    (lost,) = running(old, 1, node=DOWN, deployment_id="old")
    cluster = Cluster().put(
        NODES[0], DOWN, old, new, *running(old, 0), lost, canary, ended_before, waiting
    )
    cluster.run(make_evaluation(triggered_by="node-update"))
    (alloc,) = placements(cluster.plans[0])
    assert (alloc.name, alloc.job_version, alloc.deployment_id) == ("web.web[1]", 0, "old")


#: Versions that never got past their canaries; version 8 has none, and 9 comes after the row.
UNPROMOTED = frozenset({4, 5, 6, 9})


@pytest.mark.parametrize(
    ("version", "chosen"),
    [
        pytest.param(version, chosen, id=f"G46-version-{version}")
        for version, chosen in enumerate((1, 2, 3, 3, 3, 3, 7, 8, 8), start=1)
    ],
)
def test_a_lost_alloc_is_placed_from_the_newest_version_that_was_promoted(version, chosen):
    job = job_of(2, version=1, update=UpdateStrategy(max_parallel=1, canary=1))
    versions, deployments = [], []
    for number in range(1, version + 1):
        promoted = number not in UNPROMOTED
        wanted = 0 if number == 8 else 1
        state = {"promoted": promoted and wanted > 0, "desired_canaries": wanted}
        versions.append(job)
        deployments.append(
            rollout(
                job,
                id=f"v{number}",
                state=state,
                status="running" if number == version else "successful",
            )
        )
        job = version_after(job, group={"meta": {"release": str(number)}})
    kept = versions[chosen - 1]
    rows = [*running(kept, 0), *running(kept, 1, node=DOWN)]
    cluster = Cluster().put(NODES[0], DOWN, *versions, *deployments, *rows)
    cluster.run(make_evaluation(triggered_by="node-update"))
    again = [alloc for alloc in placements(cluster.plans[0]) if alloc.name == "web.web[1]"]
    assert [(alloc.job_version, alloc.deployment_id) for alloc in again] == [
        (chosen, f"v{chosen}")
    ]


def test_a_lost_alloc_is_never_placed_from_a_version_before_its_own():
    first = job_of(2, update=UpdateStrategy(max_parallel=1, canary=1))
    second = version_after(first, group={"meta": {"release": "1"}})
    third = version_after(second, group={"meta": {"release": "2"}})
    deployments = (
        rollout(first, id="v0", status="successful", state={"promoted": True}),
        rollout(second, id="v1", status="cancelled", state={"desired_canaries": 1}),
        rollout(third, id="v2", state={"desired_canaries": 1}),
    )
    held = [*running(first, 0), *running(second, 1, node=DOWN)]
    cluster = Cluster().put(NODES[0], DOWN, first, second, third, *deployments, *held)
    cluster.run(make_evaluation(triggered_by="node-update"))
    again = [alloc for alloc in placements(cluster.plans[0]) if alloc.name == "web.web[1]"]
    assert [(alloc.job_version, alloc.deployment_id) for alloc in again] == [(2, "v2")]


def test_g51_namesakes_of_a_batch_job_are_stopped_and_one_is_kept_as_it_was():
    old = job_of(job={"type": "batch"})
    new = version_after(old, group={}, priority=70)
    metrics = AllocMetric(nodes_evaluated=7)
    held = running(old, *range(5), name="web.web[0]", metrics=metrics)
    cluster = Cluster().put(NODES[0], old, new, *held)
    assert ended(cluster.run(make_evaluation(type="batch"))) == DONE
    (plan,) = cluster.plans
    (kept,) = updates(plan)
    assert (len(stops(plan)), placements(plan), kept.metrics) == (4, [], metrics)
    assert {kept.id, *(stop.id for stop in stops(plan))} == {alloc.id for alloc in held}


def test_g23_scaling_to_nothing_stops_what_still_runs():
    old = job_of(3)
    new = version_after(old, group={"count": 0})
    over = running(old, 8, 9, desired_status=DesiredStatus.STOP)
    done = running(old, 7, client_status=ClientStatus.COMPLETE)
    cluster = Cluster().put(*NODES, old, new, *running(old, 0, 1, 2), *over, *done)
    assert ended(cluster.run(make_evaluation())) == DONE
    (plan,) = cluster.plans
    assert len([stop for stop in stops(plan) if not stop.is_client_terminal]) == 3
    assert not {stop.id for stop in stops(plan)} & {alloc.id for alloc in over}
    assert placements(plan) == []
