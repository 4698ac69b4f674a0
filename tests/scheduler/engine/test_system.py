"""System and sysbatch jobs from evaluation to outcome: their own attempts, links and rollouts."""

import msgspec

from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeEligibility, NodeStatus
from scheduler.structs.policies import SECOND, UpdateStrategy
from scheduler.structs.resources import Resources
from tests.builders import (
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.scheduler.engine.runs import Cluster

NODES = tuple(make_node(number) for number in range(1, 6))


def system(job_type: str = "system", *, cpu: int = 500, update: UpdateStrategy | None = None):
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(tasks=(task,), update=update)
    return make_job(type=job_type, task_groups=(group,))


def evaluation(job_type: str = "system", **fields: object):
    return make_evaluation(type=job_type, **fields)


def changed(job):
    """The next version, whose task asks for more."""
    task = make_task(resources=Resources(cpu=600, memory_mb=64))
    group = msgspec.structs.replace(job.task_groups[0], tasks=(task,))
    return msgspec.structs.replace(
        job, version=1, job_modify_index=40, modify_index=40, task_groups=(group,)
    )


def running_on(job, *nodes):
    return [
        make_allocation(job, number, node_id=node.id, name="web.web[0]")
        for number, node in enumerate(nodes)
    ]


def test_full_nodes_share_one_evaluation_that_waits_for_the_first():
    cluster = Cluster().put(*NODES, system(cpu=9000))
    outcome = cluster.run(evaluation())
    (blocked,) = outcome.created
    assert blocked.node_id == NODES[0].id
    assert outcome.evaluation is not None
    assert outcome.evaluation.blocked_eval == ""
    assert outcome.evaluation.failed_task_groups["web"].coalesced_failures == 4


def test_writing_an_unchanged_deployment_is_no_progress():
    job = system(update=UpdateStrategy(max_parallel=1))
    cluster = Cluster(refusing=frozenset({NODES[0].id})).put(NODES[0], job)
    outcome = cluster.run(evaluation())
    assert outcome.evaluation is not None
    assert outcome.evaluation.status is EvalStatus.FAILED
    assert len(cluster.plans) == 6


def test_a_staggered_rollout_starts_its_next_batch_by_an_evaluation():
    strategy = UpdateStrategy(max_parallel=2, stagger=30 * SECOND, strategy="stagger")
    old = system(update=strategy)
    cluster = Cluster().put(*NODES, old, *running_on(old, *NODES), changed(old))
    outcome = cluster.run(evaluation())
    (plan,) = cluster.plans
    assert plan.deployment is None
    assert sum(map(len, plan.node_update.values())) == 2
    (following,) = outcome.created
    assert (following.triggered_by, following.wait, following.previous_eval) == (
        "rolling-update",
        30 * SECOND,
        evaluation().id,
    )
    assert outcome.evaluation is not None
    assert outcome.evaluation.next_eval == following.id


def test_the_last_batch_of_a_staggered_rollout_has_no_successor():
    strategy = UpdateStrategy(max_parallel=5, stagger=30 * SECOND, strategy="stagger")
    old = system(update=strategy)
    cluster = Cluster().put(*NODES, old, *running_on(old, *NODES), changed(old))
    outcome = cluster.run(evaluation(triggered_by="rolling-update"))
    assert outcome.created == ()
    assert sum(map(len, cluster.plans[0].node_update.values())) == 5


def test_a_rollout_by_deployment_makes_no_timed_evaluation():
    old = system(update=UpdateStrategy(max_parallel=2, stagger=30 * SECOND))
    cluster = Cluster().put(*NODES, old, *running_on(old, *NODES), changed(old))
    outcome = cluster.run(evaluation())
    (plan,) = cluster.plans
    assert outcome.created == ()
    assert plan.deployment is not None
    assert plan.deployment.task_groups["web"].desired_total == 5
    assert sum(map(len, plan.node_update.values())) == 2


def test_what_a_lost_node_was_told_to_stop_is_lost():
    job = system()
    down = make_node(7, status=NodeStatus.DOWN)
    (told,) = running_on(job, down)
    told = told.changed(desired_status=DesiredStatus.STOP)
    cluster = Cluster().put(down, job, told)
    cluster.run(evaluation(triggered_by="node-update"))
    ((stop,),) = cluster.plans[0].node_update.values()
    assert (stop.id, stop.client_status) == (told.id, ClientStatus.LOST)


def test_sysbatch_work_that_ended_takes_on_a_harmless_change_without_a_plan():
    job = system("sysbatch")
    ended = [
        alloc.changed(client_status=ClientStatus.COMPLETE) for alloc in running_on(job, NODES[0])
    ]
    harmless = msgspec.structs.replace(job, version=1, job_modify_index=40, priority=60)
    cluster = Cluster().put(NODES[0], job, *ended, harmless)
    cluster.run(evaluation("sysbatch"))
    assert cluster.plans == []


def test_a_changed_alloc_where_the_job_no_longer_goes_is_stopped():
    job = system(update=UpdateStrategy(max_parallel=1))
    moved = msgspec.structs.replace(
        job, version=1, job_modify_index=40, datacenters=("elsewhere",)
    )
    cluster = Cluster().put(NODES[0], job, *running_on(job, NODES[0]), moved)
    cluster.run(evaluation())
    (plan,) = cluster.plans
    assert list(plan.node_update) == [NODES[0].id]
    assert plan.node_allocation == {}


def test_a_successful_deployment_of_a_job_without_nodes_is_left_out_of_the_plan():
    job = system(update=UpdateStrategy(max_parallel=1))
    closed = make_node(1, scheduling_eligibility=NodeEligibility.INELIGIBLE)
    done = Deployment(
        id="dep",
        job_id="web",
        job_create_index=10,
        status=DeploymentStatus.SUCCESSFUL,
        task_groups={"web": GroupRollout(desired_total=1)},
        create_index=30,
    )
    cluster = Cluster().put(closed, job, done)
    outcome = cluster.run(evaluation())
    assert cluster.plans == []
    assert outcome.evaluation is not None
    assert outcome.evaluation.status is EvalStatus.COMPLETE
    assert outcome.evaluation.deployment_id == ""
