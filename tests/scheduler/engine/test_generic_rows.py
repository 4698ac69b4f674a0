"""Rows of the generic scheduler's scenarios: an evaluation, its attempts, what is left to do."""

import msgspec
import pytest

from scheduler.engine.attempt import Tools
from scheduler.engine.run import Run
from scheduler.errors import MissingRefresh
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.nouns import NODE_POOLS, SCHEDULER_SETTINGS
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.computed_class import computed_class
from scheduler.structs.constraint import Constraint
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodePool, NodePoolSchedulerConfiguration
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.policies import HOUR, MINUTE, ReschedulePolicy, UpdateStrategy
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
from tests.scheduler.engine.rows import (
    DONE,
    NODES,
    ended,
    flat,
    job_of,
    placements,
    rollout,
    running,
    stops,
)
from tests.scheduler.engine.runs import Cluster, NoPatterns

BLOCKED = {"status": EvalStatus.BLOCKED, "triggered_by": "queued-allocs"}
DISTINCT = Constraint(l_target="", operand="distinct_hosts", r_target="true")


def configure(cluster: Cluster, settings: SchedulerSettings, *pools: NodePool) -> None:
    def put(change: Change) -> None:
        change.put(SCHEDULER_SETTINGS, settings)
        for pool in pools:
            change.put(NODE_POOLS, pool)

    cluster.store.write(WriteKind.SCHEDULER_SETTINGS_UPDATED, put, now=SOME_MOMENT)


def test_g01_ten_nodes_take_ten():
    cluster = Cluster().put(*NODES, job_of(10))
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert len(placements(plan)) == 10
    assert len(cluster.store.allocations_by_job(make_job().key)) == 10
    assert (ended(outcome), outcome.created) == (DONE, ())


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
    (failed,) = outcome.evaluation.failed_task_groups.values()
    assert failed.coalesced_failures == 9
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
    holder = job_of(cpu=4000, job={"id": "holder"})
    cluster = Cluster().put(full, other, holder, *running(holder, 5))
    (blocked,) = cluster.put(job_of(constraints=(linux,))).run(make_evaluation()).created
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
    (failed,) = outcome.evaluation.failed_task_groups.items()
    assert (failed[0], failed[1].coalesced_failures) == ("large", 1)


def test_g05_one_of_three_fits():
    cluster = Cluster().put(NODES[0], job_of(3, cpu=3000))
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert len(placements(plan)) == 1
    assert ended(outcome) == (EvalStatus.COMPLETE, 2, True)


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
    assert (cluster.plans, ended(outcome), outcome.reblocked) == ([], DONE, None)


def test_g08_a_blocked_evaluation_that_still_finds_no_node_is_handed_back():
    cluster = Cluster().put(job_of(10))
    outcome = cluster.run(make_evaluation(**BLOCKED))
    assert (cluster.plans, outcome.evaluation, outcome.created) == ([], None, ())
    assert (outcome.reblocked.id, outcome.reblocked.status) == (
        make_evaluation().id,
        EvalStatus.BLOCKED,
    )


def test_g09_a_blocked_evaluation_that_finds_room_is_complete():
    cluster = Cluster().put(*NODES, job_of(10))
    outcome = cluster.run(make_evaluation(**BLOCKED))
    assert [len(placements(plan)) for plan in cluster.plans] == [10]
    assert (ended(outcome), outcome.reblocked) == (DONE, None)


def test_g10_an_unknown_trigger_fails_the_evaluation_at_once():
    cluster = Cluster().put(NODES[0], job_of())
    outcome = cluster.run(make_evaluation(triggered_by="scheduled"))
    assert cluster.plans == []
    assert (outcome.evaluation.status, outcome.evaluation.status_description) == (
        EvalStatus.FAILED,
        "scheduler cannot handle 'scheduled' evaluation reason",
    )


@pytest.mark.parametrize(("job_type", "attempts"), [("service", 5), ("batch", 2)])
def test_g11_plans_that_are_refused_whole_leave_a_failed_evaluation_and_a_blocked_one(
    job_type, attempts
):
    update = UpdateStrategy(max_parallel=1) if job_type == "service" else None
    job = job_of(update=update, job={"type": job_type, "all_at_once": True})
    cluster = Cluster(refusing=frozenset({NODES[0].id})).put(NODES[0], job)
    outcome = cluster.run(make_evaluation(type=job_type))
    assert [plan.deployment is not None for plan in cluster.plans] == (
        [job_type == "service"] * attempts
    )
    assert list(cluster.store.allocations()) == []
    (blocked,) = outcome.created
    assert (blocked.triggered_by, blocked.status_description) == (
        "max-plan-attempts",
        "created due to placement conflicts",
    )
    evaluation = outcome.evaluation
    assert (evaluation.status, evaluation.status_description) == (
        EvalStatus.FAILED,
        f"maximum attempts reached ({attempts})",
    )
    assert (evaluation.blocked_eval, evaluation.deployment_id) == (blocked.id, "")


def test_a_deployment_that_was_written_is_progress_once():
    """Row 78 of evaluations.md 17, whose plans are refused node by node."""
    job = job_of(update=UpdateStrategy(max_parallel=1))
    cluster = Cluster(refusing=frozenset({NODES[0].id})).put(NODES[0], job)
    outcome = cluster.run(make_evaluation())
    assert len(cluster.plans) == 6
    (blocked,) = outcome.created
    assert (blocked.triggered_by, outcome.evaluation.deployment_id) == ("max-plan-attempts", "")


@pytest.mark.parametrize(("job_type", "attempts"), [("service", 5), ("batch", 2)])
@pytest.mark.parametrize("has_progress", [False, True], ids=["G12-never", "G12-once"])
def test_progress_at_the_last_attempt_grants_as_many_again(job_type, attempts, has_progress):
    first, second = NODES[:2]
    job = job_of(2, job={"type": job_type, "constraints": (DISTINCT,)})
    only_first = frozenset({first.id})
    cluster = Cluster(
        refusing=frozenset({first.id, second.id}),
        exceptions={attempts: only_first} if has_progress else {},
    )
    outcome = cluster.put(first, second, job).run(make_evaluation(type=job_type))
    assert len(cluster.plans) == attempts * (1 + has_progress)
    assert outcome.evaluation.status is EvalStatus.FAILED


def test_g13_a_refusal_without_a_newer_state_is_an_error():
    cluster = Cluster(refusing=frozenset({NODES[0].id}), refreshes=False).put(NODES[0], job_of())
    with pytest.raises(MissingRefresh):
        cluster.run(make_evaluation())
    (stored,) = cluster.store.evaluations()
    assert stored.status is EvalStatus.PENDING


def test_g14_a_disk_that_fits_once_is_given_once():
    disk = make_node(1).node_resources.disk.disk_mb
    job = job_of(2, ephemeral_disk=EphemeralDisk(size_mb=disk * 2 // 3))
    cluster = Cluster().put(NODES[0], job)
    outcome = cluster.run(make_evaluation())
    assert len(placements(cluster.plans[0])) == 1
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, True)
    assert outcome.evaluation.failed_task_groups["web"].dimension_exhausted == {"disk": 1}


def test_g15_distinct_hosts_leaves_the_eleventh_waiting():
    cluster = Cluster().put(*NODES, job_of(11, job={"constraints": (DISTINCT,)}))
    outcome = cluster.run(make_evaluation())
    assert len({alloc.node_id for alloc in placements(cluster.plans[0])}) == 10
    assert ended(outcome) == (EvalStatus.COMPLETE, 1, True)


def test_g25_what_a_purged_job_left_is_stopped():
    job = job_of(3)
    cluster = Cluster().put(NODES[0], *running(job, 0, 1, 2))
    outcome = cluster.run(make_evaluation(triggered_by="job-deregister"))
    (plan,) = cluster.plans
    assert (len(stops(plan)), placements(plan), plan.job_version) == (3, [], None)
    assert outcome.evaluation.status is EvalStatus.COMPLETE
    assert outcome.evaluation.queued_allocations == {}


def test_g26_a_stopped_job_stops_everything():
    job = job_of(10, job={"stop": True})
    cluster = Cluster().put(*NODES, job, *running(job, *range(10)))
    outcome = cluster.run(make_evaluation(triggered_by="job-deregister"))
    (plan,) = cluster.plans
    assert (len(stops(plan)), placements(plan), ended(outcome)) == (10, [], DONE)


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
    under_way = rollout(old, state={"desired_total": 2})
    cluster = Cluster().put(*NODES, old, new, under_way)
    cluster.run(make_evaluation())
    stored = cluster.store.deployment(under_way.id)
    assert (stored.status, stored.status_description) == ("cancelled", description)


@pytest.mark.parametrize("is_dry_run", [False, True], ids=["G47-in-earnest", "G47-dry-run"])
def test_what_matters_more_takes_the_place_of_two_others(is_dry_run):
    high = job_of(cpu=4000, job={"priority": 100})
    jobs = [
        job_of(cpu=2000, job={"id": f"low-{priority}", "priority": priority})
        for priority in (30, 50)
    ]
    victims = [running(job, number)[0] for number, job in enumerate(jobs)]
    cluster = Cluster().put(NODES[0], high, *jobs, *victims)
    config = PreemptionConfig(service_scheduler_enabled=True)
    configure(cluster, SchedulerSettings(preemption_config=config))
    outcome = cluster.run(make_evaluation(annotate_plan=is_dry_run))
    (plan,) = cluster.plans
    (alloc,) = placements(plan)
    lost = {victim.id for victim in victims}
    assert ended(outcome) == DONE
    assert set(alloc.preempted_allocations) == lost
    assert {evicted.id: evicted.preempted_by_allocation for evicted in
            flat(plan.node_preemptions)} == dict.fromkeys(lost, alloc.id)  # fmt: skip
    annotations = outcome.evaluation.plan_annotations
    assert annotations.desired_updates["web"].preemptions == 2
    assert set(annotations.preempted_allocations) == (lost if is_dry_run else set())


def test_g48_a_batch_job_that_is_complete_is_left_alone():
    job = job_of(job={"type": "batch"})
    (done,) = running(job, 0, client_status=ClientStatus.COMPLETE)
    cluster = Cluster().put(NODES[0], job, done)
    outcome = cluster.run(make_evaluation(type="batch"))
    assert (cluster.plans, ended(outcome)) == ([], DONE)


@pytest.mark.parametrize(
    ("cpu", "placed"),
    [pytest.param(100, 1, id="G49-room"), pytest.param(90_000, 0, id="G49-none")],
)
def test_a_failed_batch_alloc_is_replaced_if_there_is_room(cpu, placed):
    policy = ReschedulePolicy(attempts=1, interval=10 * HOUR, delay=MINUTE)
    job = job_of(cpu=cpu, reschedule_policy=policy, job={"type": "batch"})
    (failed,) = running(job, 0, client_status=ClientStatus.FAILED, modify_time=SOME_MOMENT - HOUR)
    cluster = Cluster().put(NODES[0], job, failed)
    outcome = cluster.run(make_evaluation(type="batch"))
    assert sum(len(placements(plan)) for plan in cluster.plans) == placed
    assert ended(outcome) == (EvalStatus.COMPLETE, 1 - placed, not placed)


@pytest.mark.parametrize(
    ("held", "place", "ignore"),
    [pytest.param(0, 10, 0, id="G54-new"), pytest.param(10, 0, 10, id="G54-nothing-to-do")],
)
def test_a_dry_run_submits_its_plan_whatever_is_in_it(held, place, ignore):
    job = job_of(10)
    cluster = Cluster().put(*NODES, job, *running(job, *range(held)))
    cluster.run(make_evaluation(annotate_plan=True))
    (plan,) = cluster.plans
    desired = plan.annotations.desired_updates["web"]
    assert (desired.place, desired.ignore) == (place, ignore)


@pytest.mark.parametrize("job_type", ["service", "batch", "system", "sysbatch"])
@pytest.mark.parametrize(
    ("general", "of_pool", "given"),
    [
        pytest.param(False, None, 0, id="G55-off"),
        pytest.param(True, None, 512, id="G55-on"),
        pytest.param(True, False, 0, id="G55-off-in-the-pool"),
        pytest.param(False, True, 512, id="G55-on-in-the-pool"),
    ],
)
def test_memory_beyond_the_ask_is_granted_where_it_is_allowed(job_type, general, of_pool, given):
    resources = Resources(cpu=100, memory_mb=256, memory_max_mb=512)
    group = make_task_group(tasks=(make_task(resources=resources),))
    job = make_job(type=job_type, task_groups=(group,), node_pool="lab")
    cluster = Cluster().put(make_node(1, node_pool="lab"), job)
    own = NodePoolSchedulerConfiguration(memory_oversubscription_enabled=of_pool)
    configure(
        cluster,
        SchedulerSettings(memory_oversubscription_enabled=general),
        NodePool(name="lab", scheduler_configuration=own),
    )
    cluster.run(make_evaluation(type=job_type))
    (alloc,) = placements(cluster.plans[0])
    memory = alloc.allocated_resources.tasks["web"].memory
    assert (memory.memory_mb, memory.memory_max_mb) == (256, given)


def test_g56_only_new_allocs_are_taken_off_what_is_queued():
    tools = Tools(ids=CountingIDs(), now=SOME_MOMENT, matcher=NoPatterns(), seed=1)
    run = Run(make_evaluation(), tools, start_index=1)
    run.queued = {"web": 2}
    new, refused = (make_allocation(number=number, create_index=0) for number in (1, 2))
    updated = tuple(make_allocation(number=number) for number in (3, 4))

    def by_node(*allocs: Allocation) -> dict[str, tuple[Allocation, ...]]:
        return {make_node(1).id: (*allocs, *updated)}

    plan = Plan(id="plan", eval_id=make_evaluation().id, node_allocation=by_node(new, refused))
    committed = msgspec.structs.replace(new, create_index=9, modify_index=9)
    run.count_committed(plan, PlanResult(node_allocation=by_node(committed)))
    assert run.queued == {"web": 1}
