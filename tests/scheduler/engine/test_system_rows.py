"""Rows of the system and sysbatch schedulers' scenarios: every node for itself."""

import pytest
from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.structs.allocation import (
    AllocState,
    ClientStatus,
    DeploymentHealth,
    DesiredTransition,
)
from scheduler.structs.constraint import Constraint
from scheduler.structs.deployment import DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job
from scheduler.structs.node import DrainStrategy, Node, NodeEligibility, NodeStatus
from scheduler.structs.policies import MINUTE, SECOND, DisconnectStrategy, UpdateStrategy
from scheduler.structs.resources import Resources
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from tests.builders import SOME_MOMENT, make_evaluation, make_node, make_task, make_task_group
from tests.scheduler.engine.rows import (
    NODES,
    flat,
    on_each,
    placements,
    rollout,
    running,
    stops,
    updates,
    version_after,
)
from tests.scheduler.engine.rows import job_of as service
from tests.scheduler.engine.runs import Cluster

ONLY_LINUX = Constraint(l_target="${attr.kernel.name}", operand="=", r_target="linux")
OTHER_TASK = {"tasks": (make_task(user="other", resources=Resources(cpu=100, memory_mb=64)),)}
TWO = UpdateStrategy(max_parallel=2)


def system(job_type: str = "system", **fields: object) -> Job:
    """A system or sysbatch job of one group; fields of the job in `job`."""
    of_job = fields.pop("job", {})
    return service(job={"type": job_type, **of_job}, **fields)


def evaluation(job_type: str = "system", number: int = 1, **fields: object):
    return make_evaluation(number, type=job_type, **fields)


def kernel(number: int, name: str) -> Node:
    node = make_node(number, computed_class="")
    return replace(node, attributes={**node.attributes, "kernel.name": name})


def complete(outcome) -> bool:
    return outcome.evaluation is not None and outcome.evaluation.status is EvalStatus.COMPLETE


@pytest.mark.parametrize("job_type", ["system", "sysbatch"])
def test_s01_every_ready_node_gets_one(job_type):
    closed = make_node(20, scheduling_eligibility=NodeEligibility.INELIGIBLE)
    cluster = Cluster().put(*NODES, closed, system(job_type))
    outcome = cluster.run(evaluation(job_type))
    (plan,) = cluster.plans
    assert [alloc.node_id for alloc in placements(plan)] == [node.id for node in NODES]
    assert complete(outcome)
    assert outcome.evaluation.queued_allocations == {"web": 0}


def test_s02_without_nodes_there_is_nothing_to_do():
    cluster = Cluster().put(system())
    assert complete(cluster.run(evaluation()))
    assert cluster.plans == []


@pytest.mark.parametrize(
    "job_type", [pytest.param("system", id="S03"), pytest.param("sysbatch", id="S35")]
)
def test_a_node_that_joins_gets_one(job_type):
    job = system(job_type)
    ended = ClientStatus.COMPLETE if job_type == "sysbatch" else ClientStatus.RUNNING
    held = on_each(job, *NODES[:9], client_status=ended)
    cluster = Cluster().put(*NODES, job, *held)
    assert complete(cluster.run(evaluation(job_type, triggered_by="node-update")))
    (plan,) = cluster.plans
    assert stops(plan) == []
    assert [alloc.node_id for alloc in placements(plan)] == [NODES[9].id]


@pytest.mark.parametrize(
    "strategy", [pytest.param("", id="S04-plain"), pytest.param("stagger", id="S04-staggered")]
)
def test_a_rollout_without_deployment_replaces_five_at_a_time(strategy):
    update = UpdateStrategy(max_parallel=5, stagger=30 * SECOND, strategy=strategy)
    old = system(job={"update": update})
    new = version_after(old, group=OTHER_TASK)
    cluster = Cluster().put(*NODES, old, *on_each(old, *NODES), new)
    outcome = cluster.run(evaluation())
    (plan,) = cluster.plans
    assert (len(stops(plan)), len(placements(plan)), plan.deployment) == (5, 5, None)
    assert complete(outcome)
    assert [
        (made.triggered_by, made.wait, made.previous_eval, made.id) for made in outcome.created
    ] == [
        ("rolling-update", 30 * SECOND, evaluation().id, outcome.evaluation.next_eval)
    ] * bool(strategy)  # fmt: skip


def test_s05_nodes_that_constraints_exclude_are_not_counted():
    nodes = [*(kernel(number, "linux") for number in range(1, 10)), kernel(10, "plan9")]
    cluster = Cluster().put(*nodes, system(constraints=(ONLY_LINUX,)))
    outcome = cluster.run(evaluation(annotate_plan=True))
    (plan,) = cluster.plans
    assert len(flat(plan.node_allocation)) == 9
    assert plan.annotations.desired_updates["web"].place == 9
    assert outcome.evaluation.queued_allocations == {"web": 0}


@pytest.mark.parametrize("count", [pytest.param(1, id="S06-one"), pytest.param(2, id="S07-two")])
def test_when_every_node_is_excluded_the_group_failed_and_nobody_waits(count):
    nodes = [kernel(number, "plan9") for number in range(1, count + 1)]
    cluster = Cluster().put(*nodes, system(constraints=(ONLY_LINUX,)))
    outcome = cluster.run(evaluation())
    assert outcome.created == ()
    assert outcome.evaluation.queued_allocations == {"web": 0}
    failed = outcome.evaluation.failed_task_groups["web"]
    assert sum(failed.constraint_filtered.values()) == count
    assert outcome.explanations["web"].nearest_miss == (
        f"{count} node{'s fail' if count > 1 else ' fails'} ${{attr.kernel.name}} = linux"
    )


def test_s08_what_runs_where_it_can_is_no_failure():
    nodes = [kernel(1, "linux"), kernel(2, "plan9")]
    job = system(constraints=(ONLY_LINUX,))
    cluster = Cluster().put(*nodes, job)
    cluster.run(evaluation())
    again = cluster.run(evaluation(number=2))
    assert again.evaluation.failed_task_groups == {}
    assert len(cluster.plans) == 1


@pytest.mark.parametrize("may_preempt", [False, True], ids=["S09-off", "S10-on"])
def test_a_full_node_makes_room_only_where_that_is_allowed(may_preempt):
    low = service(cpu=3000, job={"id": "low", "priority": 20})
    cluster = Cluster().put(NODES[0], low, *running(low, 5))
    config = PreemptionConfig(system_scheduler_enabled=may_preempt)

    def configure(change: Change) -> None:
        change.put(SCHEDULER_SETTINGS, SchedulerSettings(preemption_config=config))

    cluster.store.write(WriteKind.SCHEDULER_SETTINGS_UPDATED, configure, now=SOME_MOMENT)
    outcome = cluster.put(system(cpu=3000, job={"priority": 100})).run(evaluation())
    assert complete(outcome)
    assert outcome.evaluation.blocked_eval == ""
    assert outcome.evaluation.queued_allocations == {"web": 0 if may_preempt else 1}
    assert list(outcome.evaluation.failed_task_groups) == ([] if may_preempt else ["web"])
    assert [(made.status, made.node_id) for made in outcome.created] == (
        [] if may_preempt else [(EvalStatus.BLOCKED, NODES[0].id)]
    )
    assert [
        (len(placements(plan)), [alloc.job_id for alloc in flat(plan.node_preemptions)])
        for plan in cluster.plans
    ] == ([(1, ["low"])] if may_preempt else [])


def test_s11_what_a_down_node_ran_is_lost_and_nothing_else_moves():
    down = make_node(20, status=NodeStatus.DOWN)
    job = system()
    *others, gone = on_each(job, *NODES, down)
    cluster = Cluster().put(*NODES, down, job, *others, gone)
    assert complete(cluster.run(evaluation(triggered_by="node-update")))
    (plan,) = cluster.plans
    assert [(stop.id, stop.client_status) for stop in stops(plan)] == [
        (gone.id, ClientStatus.LOST)
    ]
    assert plan.node_allocation == {}


def test_s12_a_drained_alloc_is_stopped_and_goes_nowhere_else():
    job = system()
    draining = make_node(
        20, drain_strategy=DrainStrategy(), scheduling_eligibility=NodeEligibility.INELIGIBLE
    )
    stays, told = on_each(job, NODES[0], draining)
    told = told.changed(desired_transition=DesiredTransition(migrate=True))
    cluster = Cluster().put(NODES[0], draining, job, stays, told)
    cluster.run(evaluation(triggered_by="node-drain"))
    (plan,) = cluster.plans
    assert [(stop.id, stop.client_status) for stop in stops(plan)] == [
        (told.id, ClientStatus.RUNNING)
    ]
    assert plan.node_allocation == {}


@pytest.mark.parametrize("changes", [False, True], ids=["S13-unchanged", "S13-changed"])
def test_a_node_that_takes_nothing_new_keeps_what_did_not_change(changes):
    closed = make_node(20, scheduling_eligibility=NodeEligibility.INELIGIBLE)
    job = system()
    held = on_each(job, closed)
    newer = [version_after(job, group={}, priority=60)] if changes else []
    cluster = Cluster().put(closed, job, *held, *newer)
    assert complete(cluster.run(evaluation()))
    assert [
        ([stop.id for stop in stops(plan)], plan.node_allocation) for plan in cluster.plans
    ] == [([held[0].id], {})] * changes


def test_s14_a_datacenter_that_was_dropped_is_left():
    far = make_node(20, datacenter="dc2")
    old = system(job={"datacenters": ("dc1", "dc2")})
    new = version_after(old, group={}, datacenters=("dc1",))
    cluster = Cluster().put(NODES[0], far, old, *on_each(old, NODES[0], far), new)
    cluster.run(evaluation())
    (plan,) = cluster.plans
    assert [stop.node_id for stop in stops(plan)] == [far.id]
    assert placements(plan) == []


@pytest.mark.parametrize(("job_type", "attempts"), [("system", 5), ("sysbatch", 2)])
def test_s15_refused_plans_end_without_a_blocked_evaluation(job_type, attempts):
    cluster = Cluster(refusing=frozenset({NODES[0].id})).put(NODES[0], system(job_type))
    outcome = cluster.run(evaluation(job_type))
    assert len(cluster.plans) == attempts
    assert outcome.created == ()
    assert (outcome.evaluation.status, outcome.evaluation.status_description) == (
        EvalStatus.FAILED,
        f"maximum attempts reached ({attempts})",
    )


@pytest.mark.parametrize(
    ("job_type", "trigger", "status"),
    [
        pytest.param("system", "alloc-failure", EvalStatus.FAILED, id="S16-system-failure"),
        pytest.param("system", "periodic-job", EvalStatus.FAILED, id="S16-system-periodic"),
        pytest.param("sysbatch", "alloc-failure", EvalStatus.FAILED, id="S16-sysbatch-failure"),
        pytest.param("sysbatch", "periodic-job", EvalStatus.COMPLETE, id="S16-sysbatch-periodic"),
    ],
)
def test_only_known_triggers_are_worked_off(job_type, trigger, status):
    cluster = Cluster().put(NODES[0], system(job_type))
    outcome = cluster.run(evaluation(job_type, triggered_by=trigger))
    assert outcome.evaluation.status is status
    assert len(cluster.plans) == (status is EvalStatus.COMPLETE)


@pytest.mark.parametrize(
    ("status", "states", "expected"),
    [
        pytest.param(ClientStatus.RUNNING, (), ("run", "unknown"), id="S17-running"),
        pytest.param(
            ClientStatus.UNKNOWN,
            (AllocState(value="unknown", time=SOME_MOMENT - MINUTE),),
            None,
            id="S17-already-unknown",
        ),
        pytest.param(
            ClientStatus.UNKNOWN,
            (AllocState(value="unknown", time=SOME_MOMENT - 10 * MINUTE),),
            ("stop", "lost"),
            id="S17-expired",
        ),
    ],
)
def test_a_disconnected_node_keeps_its_alloc_for_a_while(status, states, expected):
    away = make_node(20, status=NodeStatus.DISCONNECTED)
    job = system(disconnect=DisconnectStrategy(lost_after=5 * MINUTE))
    held = on_each(job, away, client_status=status, alloc_states=states)
    cluster = Cluster().put(away, job, *held)
    cluster.run(evaluation(triggered_by="node-update"))
    changed = [
        (alloc.desired_status, alloc.client_status)
        for plan in cluster.plans
        for alloc in (*stops(plan), *updates(plan), *placements(plan))
    ]
    assert changed == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        pytest.param(ClientStatus.RUNNING, ["lost"], id="S36-running"),
        pytest.param(ClientStatus.COMPLETE, [], id="S36-succeeded"),
    ],
)
def test_sysbatch_work_on_a_down_node(ran, expected):
    down = make_node(20, status=NodeStatus.DOWN)
    job = system("sysbatch")
    cluster = Cluster().put(down, job, *on_each(job, down, client_status=ran))
    cluster.run(evaluation("sysbatch", triggered_by="node-update"))
    assert [stop.client_status for plan in cluster.plans for stop in flat(plan.node_update)] == (
        expected
    )


def test_s18_an_alloc_that_is_known_to_be_back_is_left_alone():
    job = system(disconnect=DisconnectStrategy(lost_after=5 * MINUTE))
    states = (
        AllocState(value="unknown", time=SOME_MOMENT - MINUTE),
        AllocState(value="running", time=SOME_MOMENT - SECOND),
    )
    cluster = Cluster().put(NODES[0], job, *on_each(job, NODES[0], alloc_states=states))
    assert complete(cluster.run(evaluation(triggered_by="reconnect")))
    assert cluster.plans == []


def rolling(*rows: object, held: int = 10, **fields: object):
    """Ten nodes, on so many of them the old version of a job that has a new one."""
    old = system(update=TWO)
    new = version_after(old, group=OTHER_TASK, **fields)
    cluster = Cluster().put(*NODES, old, *on_each(old, *NODES[10 - held :]), new, *rows)
    assert complete(cluster.run(evaluation()))
    return cluster


def current(node: Node, **fields: object):
    """An allocation of the new version on one node, in its deployment."""
    new = version_after(system(update=TWO), group=OTHER_TASK)
    number = 100 + NODES.index(node)
    (alloc,) = running(
        new, number, node=node, **{"name": "web.web[0]", "deployment_id": "dep", **fields}
    )
    return alloc


UNDER_WAY = rollout(
    version_after(system(), group={}), state={"desired_total": 10, "placed_allocs": 2}
)
HEALTHY = {"deployment_status": DeploymentHealth(healthy=True)}


def test_s19_a_new_version_rolls_two_nodes_at_a_time():
    cluster = rolling()
    (plan,) = cluster.plans
    assert (len(stops(plan)), len(placements(plan))) == (2, 2)
    (stored,) = cluster.store.deployments_by_job(system().key)
    state = stored.task_groups["web"]
    assert (state.desired_total, state.placed_allocs) == (10, 2)


def test_s20_a_group_without_an_update_block_is_replaced_at_once_and_not_rolled_out():
    groups = (make_task_group(update=TWO), make_task_group(name="api"))
    old = replace(system(), task_groups=groups)
    changed = tuple(replace(group, **OTHER_TASK) for group in groups)
    new = replace(old, version=1, job_modify_index=11, task_groups=changed)
    held = [
        replace(alloc, id=f"{group}-{alloc.id}", task_group=group, name=f"web.{group}[0]")
        for group in ("web", "api")
        for alloc in on_each(old, *NODES)
    ]
    cluster = Cluster().put(*NODES, old, *held, new)
    assert complete(cluster.run(evaluation()))
    (plan,) = cluster.plans
    for found in (stops(plan), placements(plan)):
        groups_of = [alloc.task_group for alloc in found]
        assert (groups_of.count("web"), groups_of.count("api")) == (2, 10)
    assert list(plan.deployment.task_groups) == ["web"]


@pytest.mark.parametrize(
    ("health", "number"),
    [pytest.param(HEALTHY, 2, id="S21-healthy"), pytest.param({}, 0, id="S21-not-judged-yet")],
)
def test_a_rollout_goes_on_with_what_was_judged(health, number):
    rolled = [current(node, **health) for node in NODES[:2]]
    cluster = rolling(*rolled, UNDER_WAY, held=8)
    assert sum(len(stops(plan)) for plan in cluster.plans) == number
    assert sum(len(placements(plan)) for plan in cluster.plans) == number


def test_s22_what_failed_in_a_rollout_is_replaced_beside_the_next_updates():
    failed = [
        current(
            node,
            client_status=ClientStatus.FAILED,
            deployment_status=DeploymentHealth(healthy=False),
        )
        for node in NODES[:2]
    ]
    cluster = rolling(*failed, UNDER_WAY, held=8)
    (plan,) = cluster.plans
    before = {alloc.node_id: alloc.previous_allocation for alloc in placements(plan)}
    assert {alloc.node_id: alloc.id for alloc in (*failed, *stops(plan))} == before
    assert (len(before), len(stops(plan))) == (4, 2)


def test_s23_empty_nodes_are_filled_at_once_beside_the_rollout():
    (plan,) = rolling(held=5).plans
    assert (len(stops(plan)), len(placements(plan))) == (2, 7)


def test_s31_a_successful_deployment_takes_in_what_changes_in_place():
    linux, plan9 = (kernel(1, "linux"), kernel(2, "linux")), (kernel(3, "plan9"),)
    old = system(update=TWO, constraints=(ONLY_LINUX,))
    new = version_after(old, group={}, priority=70)
    done = rollout(
        new,
        status=DeploymentStatus.SUCCESSFUL,
        state={"desired_total": 2, "placed_allocs": 2, "healthy_allocs": 2},
    )
    cluster = Cluster().put(*linux, *plan9, old, *on_each(old, *linux), new, done)
    outcome = cluster.run(evaluation(triggered_by="node-update"))
    (plan,) = cluster.plans
    assert complete(outcome)
    assert (stops(plan), placements(plan)) == ([], [])
    assert [alloc.deployment_id for alloc in updates(plan)] == ["dep", "dep"]
    assert outcome.evaluation.deployment_id == "dep"
    assert outcome.evaluation.plan_annotations.desired_updates["web"].in_place_update == 2


@pytest.mark.parametrize(
    "parts", [pytest.param({}, id="S32"), pytest.param({"web": GroupRollout()}, id="S32-empty")]
)
def test_a_successful_deployment_without_figures_is_no_trouble(parts):
    job = system(update=TWO)
    done = rollout(job, status=DeploymentStatus.SUCCESSFUL, task_groups=parts)
    held = on_each(job, NODES[0], deployment_id="dep")
    cluster = Cluster().put(NODES[0], kernel(2, "plan9"), job, *held, done)
    outcome = cluster.run(evaluation(triggered_by="node-update"))
    assert complete(outcome)
    assert [stop for plan in cluster.plans for stop in stops(plan)] == []


def test_s33_a_version_that_is_there_already_rolls_on_without_a_deployment():
    rolled = [current(node, deployment_id="", **HEALTHY) for node in NODES[:2]]
    cluster = rolling(*rolled, held=8)
    (plan,) = cluster.plans
    assert (len(stops(plan)), len(placements(plan)), plan.deployment) == (2, 2, None)
    assert list(cluster.store.deployments()) == []


@pytest.mark.parametrize("changes", [False, True], ids=["S34-unchanged", "S34-changed"])
def test_sysbatch_work_that_is_complete_runs_again_when_it_changes(changes):
    job = system("sysbatch")
    done = on_each(job, *NODES[:2], client_status=ClientStatus.COMPLETE)
    newer = [version_after(job, group=OTHER_TASK)] if changes else []
    cluster = Cluster().put(*NODES[:2], job, *done, *newer)
    assert complete(cluster.run(evaluation("sysbatch")))
    assert [
        [alloc.node_id for alloc in placements(plan)] for plan in cluster.plans
    ] == [[node.id for node in NODES[:2]]] * changes  # fmt: skip
