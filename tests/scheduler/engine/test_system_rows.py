"""Rows of the system scheduler's scenarios: every node for itself."""

import msgspec
import pytest

from scheduler.structs.allocation import AllocState, ClientStatus, DesiredTransition
from scheduler.structs.constraint import Constraint
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import DrainStrategy, NodeStatus
from scheduler.structs.policies import MINUTE, DisconnectStrategy, UpdateStrategy
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

NODES = tuple(make_node(number) for number in range(1, 11))
ONLY_LINUX = Constraint(l_target="${attr.kernel.name}", operand="=", r_target="linux")


def kernel(number: int, name: str):
    node = make_node(number, computed_class="")
    return msgspec.structs.replace(node, attributes={**node.attributes, "kernel.name": name})


def system(job_type: str = "system", *, cpu: int = 100, version: int = 0, **fields: object):
    of_job = fields.pop("job", {})
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(tasks=(task,), **fields)
    return make_job(
        type=job_type,
        task_groups=(group,),
        version=version,
        job_modify_index=10 + version,
        **of_job,
    )


def evaluation(job_type: str = "system", **fields: object):
    return make_evaluation(type=job_type, **fields)


def running(job, *nodes, **fields: object):
    return [
        make_allocation(
            job,
            number,
            **{
                "node_id": node.id,
                "name": "web.web[0]",
                "client_status": ClientStatus.RUNNING,
                **fields,
            },
        )
        for number, node in enumerate(nodes)
    ]


def flat(by_node):
    return [alloc for allocs in by_node.values() for alloc in allocs]


def complete(outcome) -> bool:
    return outcome.evaluation is not None and outcome.evaluation.status is EvalStatus.COMPLETE


def test_s02_without_nodes_there_is_nothing_to_do():
    cluster = Cluster().put(system())
    assert complete(cluster.run(evaluation()))
    assert cluster.plans == []


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
    again = cluster.run(make_evaluation(2, type="system"))
    assert again.evaluation.failed_task_groups == {}
    assert len(cluster.plans) == 1


def test_s10_a_full_node_makes_room_for_what_matters_more():
    node = NODES[0]
    low = make_job(id="low", priority=20)
    task = make_task(resources=Resources(cpu=3000, memory_mb=64))
    low = msgspec.structs.replace(low, task_groups=(make_task_group(tasks=(task,)),))
    cluster = Cluster().put(node, low)
    cluster.run(make_evaluation(5, job_id="low"))
    cluster.put(system(cpu=3000, job={"priority": 100}))

    outcome = cluster.run(evaluation())
    plan = cluster.plans[-1]
    assert [alloc.job_id for alloc in flat(plan.node_preemptions)] == ["low"]
    assert outcome.evaluation.queued_allocations == {"web": 0}


def test_s12_a_drained_alloc_is_stopped_and_goes_nowhere_else():
    job = system()
    draining = make_node(20, drain_strategy=DrainStrategy())
    stays, told = running(job, NODES[0], draining)
    told = told.changed(desired_transition=DesiredTransition(migrate=True))
    cluster = Cluster().put(NODES[0], draining, job, stays, told)
    cluster.run(evaluation(triggered_by="node-drain"))
    (plan,) = cluster.plans
    assert [stop.client_status for stop in flat(plan.node_update)] == [ClientStatus.RUNNING]
    assert plan.node_allocation == {}


def test_s14_a_datacenter_that_was_dropped_is_left():
    far = make_node(2, datacenter="dc2")
    old = system(job={"datacenters": ("dc1", "dc2")})
    new = msgspec.structs.replace(old, version=1, job_modify_index=11, datacenters=("dc1",))
    cluster = Cluster().put(NODES[0], far, old, *running(old, NODES[0], far), new)
    cluster.run(evaluation())
    assert list(cluster.plans[0].node_update) == [far.id]


@pytest.mark.parametrize(
    ("status", "states", "expected"),
    [
        pytest.param(ClientStatus.RUNNING, (), "unknown", id="S17-running"),
        pytest.param(
            ClientStatus.UNKNOWN,
            (AllocState(value="unknown", time=SOME_MOMENT - MINUTE),),
            "",
            id="S17-already-unknown",
        ),
        pytest.param(
            ClientStatus.UNKNOWN,
            (AllocState(value="unknown", time=SOME_MOMENT - 10 * MINUTE),),
            "lost",
            id="S17-expired",
        ),
    ],
)
def test_a_disconnected_node_keeps_its_alloc_for_a_while(status, states, expected):
    away = make_node(20, status=NodeStatus.DISCONNECTED)
    job = system(disconnect=DisconnectStrategy(lost_after=5 * MINUTE))
    held = running(job, away, client_status=status, alloc_states=states)
    cluster = Cluster().put(away, job, *held)
    cluster.run(evaluation(triggered_by="node-update"))
    changed = [
        alloc.client_status.value
        for plan in cluster.plans
        for alloc in (*flat(plan.node_update), *flat(plan.node_allocation))
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
    cluster = Cluster().put(down, job, *running(job, down, client_status=ran))
    cluster.run(evaluation("sysbatch", triggered_by="node-update"))
    assert [stop.client_status for plan in cluster.plans for stop in flat(plan.node_update)] == (
        expected
    )


def rolling(*, update: UpdateStrategy, held: int = 10, **states: object):
    old = system(update=update)
    new = system(update=update, cpu=200, version=1)
    cluster = Cluster().put(*NODES, old, *running(old, *NODES[:held]), new)
    cluster.run(evaluation())
    return cluster


def test_s19_a_new_version_rolls_two_nodes_at_a_time():
    cluster = rolling(update=UpdateStrategy(max_parallel=2))
    (plan,) = cluster.plans
    assert (len(flat(plan.node_update)), len(flat(plan.node_allocation))) == (2, 2)
    (stored,) = cluster.store.deployments_by_job(system().key)
    state = stored.task_groups["web"]
    assert (state.desired_total, state.placed_allocs) == (10, 2)


def test_s23_empty_nodes_are_filled_at_once_beside_the_rollout():
    cluster = rolling(update=UpdateStrategy(max_parallel=2), held=5)
    (plan,) = cluster.plans
    assert (len(flat(plan.node_update)), len(flat(plan.node_allocation))) == (2, 7)


@pytest.mark.parametrize("parts", [{"web": GroupRollout(desired_total=1)}, {}], ids=["S31", "S32"])
def test_a_successful_deployment_is_not_disturbed_by_an_evaluation_without_news(parts):
    job = system(update=UpdateStrategy(max_parallel=1))
    done = Deployment(
        id="dep",
        job_id="web",
        job_create_index=10,
        status=DeploymentStatus.SUCCESSFUL,
        task_groups=parts,
        create_index=30,
    )
    held = running(job, NODES[0], deployment_id="dep")
    cluster = Cluster().put(NODES[0], kernel(2, "plan9"), job, *held, done)
    outcome = cluster.run(evaluation(triggered_by="node-update"))
    assert complete(outcome)
    assert [stop for plan in cluster.plans for stop in flat(plan.node_update)] == []
