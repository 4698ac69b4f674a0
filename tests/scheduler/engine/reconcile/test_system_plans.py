"""What a system scheduler makes of the node reconciler's lists: of rows G20 to G32."""

import msgspec
import pytest

from scheduler.structs.constraint import Constraint
from scheduler.structs.deployment import DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job
from scheduler.structs.plan import Plan
from scheduler.structs.policies import UpdateStrategy
from tests.builders import make_evaluation, make_job, make_task_group
from tests.scheduler.engine.runs import Cluster
from tests.scheduler.engine.test_system_canaries import (
    next_version,
    nodes,
    on,
    planned,
    rollout,
    state_of,
    stops,
)


def at_a_time(number: int | None) -> UpdateStrategy | None:
    return None if number is None else UpdateStrategy(max_parallel=number)


def two_groups(of_job: int, web: int | None = None, api: int | None = None) -> Job:
    """Version 0 of a system job whose groups `web` and `api` may have limits of their own."""
    groups = (
        make_task_group(update=at_a_time(web)),
        make_task_group(name="api", update=at_a_time(api)),
    )
    return make_job(type="system", task_groups=groups, update=UpdateStrategy(max_parallel=of_job))


def renewed(plan: Plan) -> tuple[int, int]:
    """How many allocations of `web` and of `api` are placed anew."""
    placed = [alloc.task_group for part in plan.node_allocation.values() for alloc in part]
    stopped = [alloc.task_group for part in plan.node_update.values() for alloc in part]
    assert sorted(placed) == sorted(stopped)
    return placed.count("web"), placed.count("api")


@pytest.mark.parametrize(
    ("of_job", "web", "api", "expected"),
    [
        pytest.param(2, None, None, (2, 2), id="G20-by-the-job"),
        pytest.param(1, 2, None, (2, 1), id="G21-one-group-knows-better"),
        pytest.param(0, 2, 4, (2, 4), id="G21-both-groups-say"),
        pytest.param(2, 4, None, (4, 2), id="G21-a-group-allows-more-than-the-job"),
    ],
)
def test_each_group_has_the_limit_for_itself(of_job, web, api, expected):
    old = two_groups(of_job, web, api)
    fleet = nodes(4)
    existing = [on(old, node, name) for node in fleet for name in ("web", "api")]
    assert renewed(planned(*fleet, old, next_version(old), *existing)) == expected


def test_g22_only_the_group_that_waits_for_health_waits():
    old = two_groups(2)
    current = next_version(old)
    fleet = nodes(4)
    plan = planned(
        *fleet,
        old,
        current,
        *(on(current, node, deployment_id="dep") for node in fleet[:2]),
        *(on(old, node) for node in fleet[2:]),
        *(on(old, node, "api") for node in fleet),
        rollout(current, GroupRollout(desired_total=4)),
    )
    assert renewed(plan) == (0, 2)


RACK = Constraint(l_target="${meta.rack}", operand="=", r_target="a")


def racks(fitting: int, others: int):
    """Nodes of rack a, then nodes of rack b."""
    fleet = nodes(fitting + others)
    return [
        msgspec.structs.replace(node, meta={"rack": "a" if at < fitting else "b"})
        for at, node in enumerate(fleet)
    ]


@pytest.mark.parametrize(
    ("strategy", "fitting", "excluded", "with_old", "stopped", "expected"),
    [
        pytest.param((4, 100), 2, 2, 2, 2, (2, 2, 2), id="G29-excluded-and-empty"),
        pytest.param((1, 50), 1, 1, 2, 2, (1, 1, 1), id="G30-one-became-excluded"),
        pytest.param((10, 30), 9, 1, 10, 4, (3, 9, 3), id="G31-one-of-ten-became-excluded"),
    ],
)
def test_nodes_that_take_nothing_count_for_no_share(
    strategy, fitting, excluded, with_old, stopped, expected
):
    max_parallel, share = strategy
    update = UpdateStrategy(max_parallel=max_parallel, canary=share)
    old = make_job(type="system", task_groups=(make_task_group(update=update),))
    fleet = racks(fitting, excluded)
    plan = planned(
        *fleet,
        old,
        next_version(old, constraints=(RACK,)),
        *(on(old, node) for node in fleet[:with_old]),
    )
    placed = [alloc for part in plan.node_allocation.values() for alloc in part]
    assert {alloc.node_id for alloc in placed} <= {node.id for node in fleet[:fitting]}
    assert all(alloc.deployment_status and alloc.deployment_status.canary for alloc in placed)
    assert (stops(plan), len(placed), state_of(plan)) == (stopped, expected[2], expected)


def test_g32_a_successful_deployment_without_one_groups_part_does_not_stop_the_run():
    update = UpdateStrategy(max_parallel=1)
    groups = (make_task_group(update=update), make_task_group(name="api", update=update))
    current = make_job(type="system", task_groups=groups)
    fleet = nodes(2)
    done = msgspec.structs.replace(
        rollout(current, GroupRollout(desired_total=1, healthy_allocs=1)),
        status=DeploymentStatus.SUCCESSFUL,
    )
    cluster = Cluster().put(
        *fleet, current, done, on(current, fleet[0]), on(current, fleet[0], "api")
    )
    outcome = cluster.run(make_evaluation(type="system", triggered_by="node-update"))
    assert outcome.evaluation is not None
    assert outcome.evaluation.status is EvalStatus.COMPLETE
    (plan,) = cluster.plans
    assert {alloc.task_group for alloc in plan.node_allocation[fleet[1].id]} == {"web", "api"}
