"""Canaries of system jobs, a share of the nodes: rows G20 to G31 of the reconciler's scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile import reasons
from scheduler.structs.allocation import Allocation, ClientStatus, DeploymentHealth
from scheduler.structs.constraint import Constraint
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeEligibility
from scheduler.structs.plan import Plan
from scheduler.structs.policies import UpdateStrategy
from tests.builders import (
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.scheduler.engine.runs import Cluster


def system(max_parallel: int = 2, canary: int = 0, *names: str, **fields: object) -> Job:
    """Version 0; groups `web` or those named."""
    strategy = UpdateStrategy(max_parallel=max_parallel, canary=canary)
    groups = tuple(make_task_group(name=name, update=strategy) for name in names or ("web",))
    return make_job(**{"type": "system", "task_groups": groups, **fields})


def next_version(old: Job, **fields: object) -> Job:
    """The version after, whose tasks run under another user."""
    groups = tuple(
        msgspec.structs.replace(group, tasks=(make_task(user="other"),))
        for group in old.task_groups
    )
    return msgspec.structs.replace(
        old, **{"version": 1, "job_modify_index": 40, "task_groups": groups, **fields}
    )


def nodes(count: int, **fields: object) -> list[Node]:
    return [make_node(number, **fields) for number in range(1, count + 1)]


def on(of: Job, node: Node, group: str = "web", **fields: object) -> Allocation:
    number = int(node.id[-6:], 16)
    return make_allocation(
        of,
        number,
        id=f"{of.version}-{group}-{number}{fields.pop('tag', '')}",
        name=f"web.{group}[0]",
        task_group=group,
        node_id=node.id,
        client_status=fields.pop("client_status", ClientStatus.RUNNING),
        **fields,
    )


def rollout(of: Job, state: GroupRollout) -> Deployment:
    return Deployment(
        id="dep",
        job_id=of.id,
        job_version=of.version,
        job_create_index=of.create_index,
        task_groups={"web": state},
        create_index=30,
        status_description=reasons.DEPLOYMENT_RUNNING,
    )


def planned(*rows: object) -> Plan:
    """The only plan of a run over these rows."""
    cluster = Cluster().put(*rows)
    cluster.run(make_evaluation(type="system"))
    (plan,) = cluster.plans
    return plan


def stops(plan: Plan) -> int:
    return sum(map(len, plan.node_update.values()))


def places(plan: Plan) -> int:
    return sum(map(len, plan.node_allocation.values()))


def state_of(plan: Plan) -> tuple[int, int, int]:
    """(desired canaries, desired total, placed canaries)"""
    assert plan.deployment is not None
    state = plan.deployment.task_groups["web"]
    return state.desired_canaries, state.desired_total, len(state.placed_canaries)


def test_g20_each_group_has_the_limit_for_itself():
    old = system(2, 0, "web", "api")
    fleet = nodes(4)
    existing = [on(old, node, name) for node in fleet for name in ("web", "api")]
    plan = planned(*fleet, old, next_version(old), *existing)
    updated = [alloc.task_group for part in plan.node_allocation.values() for alloc in part]
    assert (updated.count("web"), updated.count("api")) == (2, 2)


def test_g22_allocs_without_a_verdict_use_up_the_limit():
    old = system(2)
    current = next_version(old)
    fleet = nodes(4)
    waiting = [on(current, node, deployment_id="dep") for node in fleet[:2]]
    plan = planned(
        *fleet,
        old,
        current,
        *waiting,
        *(on(old, node) for node in fleet[2:]),
        rollout(current, GroupRollout(desired_total=4)),
    )
    assert (stops(plan), places(plan)) == (0, 0)


def test_g23_s24_canaries_take_their_share_of_the_nodes_up_to_the_limit():
    old = system(2, 30)
    fleet = nodes(10)
    plan = planned(*fleet, old, next_version(old), *(on(old, node) for node in fleet))
    assert (stops(plan), places(plan)) == (2, 2)
    assert state_of(plan) == (2, 10, 2)
    assert plan.deployment is not None
    assert plan.deployment.status_description == reasons.DEPLOYMENT_NEEDS_PROMOTION
    assert plan.annotations is not None
    assert plan.annotations.desired_updates["web"].canary == 2


def canary(healthy: bool | None = True) -> dict[str, object]:
    return {
        "deployment_id": "dep",
        "deployment_status": DeploymentHealth(canary=True, healthy=healthy),
    }


def test_g24_s27_a_failed_canary_is_replaced_within_the_share():
    old = system(3, 30)
    current = next_version(old)
    fleet = nodes(10)
    failed = on(current, fleet[8], client_status=ClientStatus.FAILED, **canary(None))
    plan = planned(
        *fleet,
        old,
        current,
        *(on(old, node) for node in fleet[:7]),
        on(current, fleet[7], **canary()),
        failed,
        rollout(current, GroupRollout(desired_canaries=3, desired_total=10)),
    )
    assert (stops(plan), places(plan)) == (1, 3)
    assert state_of(plan) == (3, 10, 2)


def test_g25_s25_canaries_that_are_all_there_wait_for_their_promotion():
    old = system(3, 30)
    current = next_version(old)
    fleet = nodes(10)
    plan = planned(
        *fleet,
        old,
        current,
        *(on(old, node) for node in fleet[:7]),
        *(on(current, node, **canary()) for node in fleet[7:]),
        rollout(current, GroupRollout(desired_canaries=3, desired_total=10, healthy_allocs=3)),
    )
    assert (stops(plan), places(plan)) == (0, 0)
    assert plan.deployment_updates == ()
    assert plan.deployment is not None
    assert plan.deployment.status_description == reasons.DEPLOYMENT_NEEDS_PROMOTION


def test_g26_s26_after_the_promotion_the_rest_follows_by_the_limit():
    old = system(2, 30)
    current = next_version(old)
    fleet = nodes(10)
    plan = planned(
        *fleet,
        old,
        current,
        *(on(old, node) for node in fleet[:7]),
        *(on(current, node, **canary()) for node in fleet[7:]),
        rollout(current, GroupRollout(promoted=True, desired_canaries=3, healthy_allocs=3)),
    )
    assert (stops(plan), places(plan)) == (2, 2)


def test_g27_s30_nodes_that_take_nothing_lose_their_old_alloc_and_are_not_counted():
    old = system(10, 30)
    current = next_version(old)
    fleet = nodes(8)
    closed = [
        make_node(number, scheduling_eligibility=NodeEligibility.INELIGIBLE) for number in (9, 10)
    ]
    plan = planned(
        *fleet,
        *closed,
        old,
        current,
        *(on(old, node) for node in [*fleet[:5], *closed]),
        *(on(current, node, **canary()) for node in fleet[5:]),
        rollout(current, GroupRollout(promoted=True, desired_canaries=3, healthy_allocs=3)),
    )
    assert (stops(plan), places(plan)) == (7, 5)
    assert state_of(plan)[1] == 8


def test_g28_a_first_version_has_no_canaries():
    plan = planned(*nodes(10), system(10, 30))
    assert (stops(plan), places(plan)) == (0, 10)
    assert state_of(plan) == (0, 10, 0)


RACK = Constraint(l_target="${meta.rack}", operand="=", r_target="a")


@pytest.mark.parametrize(
    ("strategy", "feasible", "excluded", "expected"),
    [
        pytest.param((4, 100), 2, 0, (2, 2, (2, 2, 2)), id="G29-S28-infeasible-and-empty"),
        pytest.param((1, 50), 1, 1, (2, 1, (1, 1, 1)), id="G30-S29-one-became-infeasible"),
        pytest.param((10, 30), 9, 1, (4, 3, (3, 9, 3)), id="G31-a-constraint-excludes-one"),
    ],
)
def test_nodes_that_cannot_run_it_are_not_counted(strategy, feasible, excluded, expected):
    old = system(*strategy)
    fitting = nodes(feasible, meta={"rack": "a"})
    others = [make_node(number, meta={"rack": "b"}) for number in range(50, 52)]
    current = next_version(old, constraints=(RACK,))
    existing = [on(old, node) for node in [*fitting, *others[:excluded]]]
    plan = planned(*fitting, *others, old, current, *existing)
    assert (stops(plan), places(plan), state_of(plan)) == expected
    assert plan.annotations is not None
    assert plan.annotations.desired_updates["web"].canary == state_of(plan)[0]


def test_a_deployment_whose_nodes_are_all_healthy_is_successful():
    current = system(2)
    fleet = nodes(2)
    verdict = DeploymentHealth(healthy=True)
    plan = planned(
        *fleet,
        current,
        *(on(current, node, deployment_id="dep", deployment_status=verdict) for node in fleet),
        rollout(current, GroupRollout(desired_total=2, healthy_allocs=2)),
    )
    assert [one.status_description for one in plan.deployment_updates] == [
        reasons.DEPLOYMENT_SUCCESSFUL
    ]
