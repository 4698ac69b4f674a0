"""Quotas of namespaces: what they keep from being placed, whatever room the nodes have."""

import msgspec
import pytest

from scheduler.engine.plan.evaluate import evaluate_plan
from scheduler.messages import QueuedPlan
from scheduler.plan_applier import PlanApplier
from scheduler.state.nouns import NAMESPACES, QUOTAS, SCHEDULER_SETTINGS
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.constraint import Constraint
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job, Namespace
from scheduler.structs.moment import Moment
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.resources import Resources
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from scheduler.structs.task_group import EphemeralDisk
from tests.builders import (
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.scheduler.engine.runs import Cluster

NODES = (make_node(1), make_node(2))
LIMITED = ("default", "sister")


def job_of(count: int = 1, *, cpu: int = 500, memory_mb: int = 100, **fields: object) -> Job:
    """Each allocation takes this much, and 300 MB of disk."""
    task = make_task(resources=Resources(cpu=cpu, memory_mb=memory_mb))
    group = make_task_group(count=count, tasks=(task,), ephemeral_disk=EphemeralDisk(size_mb=300))
    group = msgspec.structs.replace(group, **fields.pop("group", {}))
    return make_job(task_groups=(group,), **fields)


def running(of: Job, number: int = 0, cpu: int = 500, **fields: object) -> Allocation:
    sized = msgspec.structs.replace(
        of,
        task_groups=(
            msgspec.structs.replace(
                of.task_groups[0],
                tasks=(make_task(resources=Resources(cpu=cpu, memory_mb=100)),),
            ),
        ),
    )
    defaults = {"node_id": NODES[0].id, "client_status": ClientStatus.RUNNING}
    return make_allocation(sized, number, **(defaults | fields))


def cluster_with(limits: QuotaAmounts, *rows: object, **settings: bool) -> Cluster:
    """Two namespaces share the quota; `other` has none."""
    cluster = Cluster()

    def fill(change):
        change.put(QUOTAS, QuotaSpec(name="q", limits=limits))
        for name in LIMITED:
            change.put(NAMESPACES, Namespace(name=name, quota="q"))
        change.put(NAMESPACES, Namespace(name="other"))
        config = PreemptionConfig(**settings)
        change.put(SCHEDULER_SETTINGS, SchedulerSettings(preemption_config=config))

    cluster.store.write(NAMESPACES.upserted, fill, now=SOME_MOMENT)
    return cluster.put(*NODES, *rows)


def test_whole_cores_are_counted_before_any_node_chose_them():
    task = make_task(resources=Resources(cores=2, memory_mb=1))
    job = make_job(task_groups=(make_task_group(count=2, tasks=(task,)),))
    cluster = cluster_with(QuotaAmounts(cores=1), job)

    outcome = cluster.run(make_evaluation())

    (metric,) = outcome.evaluation.failed_task_groups.values()
    assert metric.quota_exhausted == ("cores exhausted (2 needed > 1 limit)",)
    assert (placed(cluster), metric.nodes_exhausted) == (0, 0)


def placed(cluster: Cluster) -> int:
    return sum(len(allocs) for plan in cluster.plans for allocs in plan.node_allocation.values())


@pytest.mark.parametrize(
    ("limits", "expected", "texts"),
    [
        pytest.param(
            QuotaAmounts(cpu=1100), 2, ("cpu exhausted (1500 needed > 1100 limit)",), id="cpu"
        ),
        pytest.param(
            QuotaAmounts(memory_mb=200),
            2,
            ("memory exhausted (300 needed > 200 limit)",),
            id="what-fills-it-exactly-fits",
        ),
        pytest.param(
            QuotaAmounts(disk_mb=700), 2, ("disk exhausted (900 needed > 700 limit)",), id="disk"
        ),
        pytest.param(
            QuotaAmounts(allocations=1),
            1,
            ("allocations exhausted (2 needed > 1 limit)",),
            id="allocations",
        ),
        pytest.param(
            QuotaAmounts(cpu=1, memory_mb=1, disk_mb=9000),
            0,
            (
                "cpu exhausted (500 needed > 1 limit)",
                "memory exhausted (100 needed > 1 limit)",
            ),
            id="every-exceeded-limit-is-told",
        ),
        pytest.param(
            QuotaAmounts(cpu=-1),
            0,
            ("cpu exhausted (500 needed > 0 limit)",),
            id="less-than-nothing-is-nothing",
        ),
        pytest.param(
            QuotaAmounts(memory_max_mb=150),
            1,
            ("memory_max exhausted (200 needed > 150 limit)",),
            id="memory-max-is-what-is-reserved-where-nothing-more-may-be-used",
        ),
        pytest.param(QuotaAmounts(), 3, (), id="without-limits"),
    ],
)
def test_a_quota_keeps_what_exceeds_it_from_being_placed(limits, expected, texts):
    cluster = cluster_with(limits, job_of(3))
    outcome = cluster.run(make_evaluation())
    assert placed(cluster) == expected
    evaluation = outcome.evaluation
    assert evaluation is not None
    if not texts:
        assert (evaluation.failed_task_groups, outcome.created) == ({}, ())
        return
    failure = evaluation.failed_task_groups["web"]
    assert failure == AllocMetric(
        quota_exhausted=texts,
        coalesced_failures=2 - expected,
        nodes_available={"dc1": 2},
        nodes_in_pool=2,
        node_pool="default",
    )
    (blocked,) = outcome.created
    assert (blocked.status, blocked.quota_limit_reached) == (EvalStatus.BLOCKED, "q")
    assert outcome.explanations["web"].nearest_miss == f"quota: {'; '.join(texts)}"


@pytest.mark.parametrize(
    ("held", "is_placed"),
    [
        pytest.param({"namespace": "sister"}, False, id="a-namespace-that-shares-it-counts"),
        pytest.param({"namespace": "other"}, True, id="another-does-not"),
        pytest.param({"client_status": ClientStatus.UNKNOWN}, False, id="out-of-sight-counts"),
        pytest.param({"desired_status": DesiredStatus.STOP}, False, id="told-to-stop-counts"),
        pytest.param({"client_status": ClientStatus.COMPLETE}, True, id="ended-does-not"),
        pytest.param({"client_status": ClientStatus.LOST}, True, id="lost-does-not"),
    ],
)
def test_what_its_namespaces_hold_counts(held, is_placed):
    space = held.get("namespace", "default")
    stranger = make_job(id="stranger", namespace=space)
    cluster = cluster_with(
        QuotaAmounts(cpu=900), stranger, job_of(), running(stranger, 7, 500, **held)
    )
    cluster.run(make_evaluation())
    assert bool(placed(cluster)) is is_placed


def test_what_is_stopped_to_be_replaced_makes_room_first():
    old = job_of()
    new = msgspec.structs.replace(
        old, version=1, job_modify_index=40, task_groups=job_of(cpu=600).task_groups
    )
    cluster = cluster_with(QuotaAmounts(cpu=600), old, new, running(old))
    cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert (placed(cluster), len(plan.node_update[NODES[0].id])) == (1, 1)


def test_nobody_is_evicted_for_a_quota():
    low = make_job(id="low", priority=1)
    cluster = cluster_with(
        QuotaAmounts(cpu=600),
        low,
        job_of(priority=90),
        running(low, 7),
        service_scheduler_enabled=True,
    )
    outcome = cluster.run(make_evaluation())
    assert cluster.plans == []
    assert outcome.created[0].quota_limit_reached == "q"


def test_an_escaped_constraint_does_not_hide_that_the_quota_was_in_the_way():
    escaped = Constraint(l_target="${node.unique.name}", operand="=", r_target="node-1")
    cluster = cluster_with(QuotaAmounts(cpu=1), job_of(constraints=(escaped,)))
    (blocked,) = cluster.run(make_evaluation()).created
    assert (blocked.escaped_computed_class, blocked.class_eligibility) == (False, {})
    assert blocked.quota_limit_reached == "q"


@pytest.mark.parametrize(
    "target",
    [pytest.param("${node.unique.name}", id="escaped"), pytest.param("${node.class}", id="class")],
)
def test_what_was_found_out_about_nodes_does_not_hide_the_quota(target):
    only_first = Constraint(l_target=target, operand="!=", r_target="node-2")
    cluster = cluster_with(QuotaAmounts(cpu=600), job_of(count=2, constraints=(only_first,)))
    (blocked,) = cluster.run(make_evaluation()).created
    assert placed(cluster) == 1
    assert (blocked.escaped_computed_class, blocked.class_eligibility) == (False, {})
    assert blocked.quota_limit_reached == "q"


def test_a_system_job_takes_what_fits_and_waits_for_the_rest_as_for_a_full_node():
    cluster = cluster_with(QuotaAmounts(cpu=900), job_of(type="system"))
    outcome = cluster.run(make_evaluation(type="system"))
    assert placed(cluster) == 1
    assert outcome.evaluation is not None
    failure = outcome.evaluation.failed_task_groups["web"]
    assert failure.quota_exhausted == ("cpu exhausted (1000 needed > 900 limit)",)
    assert (failure.nodes_filtered, failure.nodes_exhausted) == (0, 0)
    (blocked,) = outcome.created
    assert (blocked.node_id, blocked.quota_limit_reached) == (NODES[1].id, "q")


def plan_of(*allocs: Allocation, stops: tuple[Allocation, ...] = ()) -> Plan:
    return Plan(
        id="p",
        eval_id="e",
        namespace="default",
        job_id="web",
        node_allocation={NODES[0].id: allocs} if allocs else {},
        node_update={NODES[0].id: stops} if stops else {},
    )


def stopped(alloc: Allocation) -> Allocation:
    return alloc.changed(desired_status=DesiredStatus.STOP)


HELD = running(job_of(), 0)
MORE = running(job_of(), 1, create_index=0)


@pytest.mark.parametrize(
    ("limit", "plan", "is_refused"),
    [
        pytest.param(1000, plan_of(MORE), False, id="fits"),
        pytest.param(999, plan_of(MORE), True, id="does-not-fit"),
        pytest.param(500, plan_of(MORE, stops=(stopped(HELD),)), False, id="after-a-stop"),
        pytest.param(100, plan_of(stops=(stopped(HELD),)), False, id="stops-only"),
        pytest.param(
            100,
            plan_of(HELD.changed(client_status=ClientStatus.UNKNOWN)),
            False,
            id="an-update-that-takes-no-more",
        ),
        pytest.param(
            999,
            plan_of(running(job_of(), 0, cpu=1000)),
            True,
            id="an-update-that-takes-more",
        ),
    ],
)
def test_the_applier_refuses_a_plan_above_the_quota_whole(limit, plan, is_refused):
    cluster = cluster_with(QuotaAmounts(cpu=limit), job_of(), HELD)
    result = evaluate_plan(cluster.store, plan)
    if is_refused:
        assert result == PlanResult(refresh_index=cluster.store.index)
    else:
        assert (result.refresh_index, result.rejected_nodes) == (0, ())
        assert result.node_allocation == plan.node_allocation


def test_a_select_of_one_node_is_bound_by_the_quota_too():
    cluster = cluster_with(QuotaAmounts(cpu=100), job_of(), running(job_of()))
    new = msgspec.structs.replace(job_of(priority=60), version=1, job_modify_index=40)
    cluster.put(new)
    outcome = cluster.run(make_evaluation())
    assert cluster.plans == []
    assert outcome.evaluation is not None
    assert outcome.evaluation.failed_task_groups["web"].quota_exhausted == (
        "cpu exhausted (500 needed > 100 limit)",
    )


def test_of_two_plans_judged_together_the_one_that_exceeds_the_quota_is_refused():
    cluster = cluster_with(QuotaAmounts(cpu=1000), job_of(), make_evaluation())
    plans = [
        msgspec.structs.replace(
            plan_of(running(job_of(), number, create_index=0, client_status=ClientStatus.PENDING)),
            id=f"p{number}",
            eval_id=make_evaluation().id,
            job_version=0,
        )
        for number in range(3)
    ]
    outcomes = PlanApplier(CountingIDs()).apply(
        cluster.store, [QueuedPlan(plan=plan) for plan in plans], Moment(SOME_MOMENT, 0.0)
    )
    committed = [outcome.result for outcome in outcomes]
    assert [len(result.node_allocation) for result in committed if result] == [1, 1, 0]
    assert committed[2] == PlanResult(refresh_index=cluster.store.index)
    assert len(cluster.store.allocations_by_job(job_of().key)) == 2
