"""Service and batch jobs from evaluation to outcome: attempts, blocked evaluations, links."""

import pytest

from scheduler.engine.registry import UnknownSchedulerType
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import JobSummary, TaskGroupSummary
from scheduler.structs.policies import UpdateStrategy
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

NODE = make_node(1)


def job_of(count: int, *, cpu: int = 500, **fields: object):
    """A job whose one group takes group fields and job fields by their names."""
    names = [name for name in ("update", "reschedule_policy") if name in fields]
    of_group = {name: fields.pop(name) for name in names}
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(count=count, tasks=(task,), **of_group)
    return make_job(task_groups=(group,), **fields)


def test_a_new_job_is_placed_and_its_evaluation_is_complete():
    cluster = Cluster().put(NODE, job_of(3))
    outcome = cluster.run(make_evaluation())
    assert outcome.evaluation is not None
    assert outcome.evaluation.status is EvalStatus.COMPLETE
    assert outcome.evaluation.queued_allocations == {"web": 0}
    assert outcome.created == ()
    (plan,) = cluster.plans
    assert [alloc.name for alloc in plan.node_allocation[NODE.id]] == [
        "web.web[0]",
        "web.web[1]",
        "web.web[2]",
    ]
    assert len(cluster.store.allocations_by_job(make_job().key)) == 3


def test_t84_what_finds_no_room_waits_in_a_blocked_evaluation():
    cluster = Cluster().put(NODE, job_of(5, cpu=2000))
    outcome = cluster.run(make_evaluation())
    (blocked,) = outcome.created
    evaluation = outcome.evaluation
    assert evaluation is not None
    assert (evaluation.status, evaluation.blocked_eval) == (EvalStatus.COMPLETE, blocked.id)
    assert evaluation.queued_allocations == {"web": 3}
    assert evaluation.failed_task_groups["web"].coalesced_failures == 2
    wanted = evaluation.failed_task_groups["web"].resources_exhausted.values()
    assert [resources.cpu for resources in wanted] == [3 * 2000]
    assert evaluation.failed_task_groups["web"].dimension_exhausted == {"cpu": 1}
    assert (blocked.status, blocked.triggered_by, blocked.previous_eval) == (
        EvalStatus.BLOCKED,
        "queued-allocs",
        evaluation.id,
    )
    assert blocked.status_description == "created to place remaining allocations"


def test_nothing_to_do_submits_no_plan():
    job = job_of(1)
    cluster = Cluster().put(NODE, job, make_allocation(job))
    outcome = cluster.run(make_evaluation())
    assert cluster.plans == []
    assert outcome.evaluation is not None
    assert outcome.evaluation.status is EvalStatus.COMPLETE
    assert outcome.evaluation.queued_allocations == {"web": 0}


def test_a_deployment_is_named_by_its_evaluation_and_its_allocations():
    job = job_of(2, update=UpdateStrategy(max_parallel=1))
    cluster = Cluster().put(NODE, job)
    outcome = cluster.run(make_evaluation())
    (plan,) = cluster.plans
    assert plan.deployment is not None
    assert {alloc.deployment_id for alloc in plan.node_allocation[NODE.id]} == {plan.deployment.id}
    assert outcome.evaluation is not None
    assert outcome.evaluation.deployment_id == plan.deployment.id


@pytest.mark.parametrize(("queued", "is_written"), [(1, False), (2, True)])
def test_a_blocked_evaluation_is_written_when_the_job_queues_another_number(queued, is_written):
    cluster = Cluster().put(NODE, job_of(1, cpu=9000))
    summary = JobSummary(job_id="web", summary={"web": TaskGroupSummary(queued=1)})

    def put(change: Change) -> None:
        change.put(JOB_SUMMARIES, summary)

    cluster.store.write(WriteKind.COLLECTED, put, now=SOME_MOMENT)
    blocked = make_evaluation(
        status=EvalStatus.BLOCKED,
        triggered_by="queued-allocs",
        queued_allocations={"web": queued},
    )
    outcome = cluster.run(blocked)
    assert outcome.reblocked is not None
    assert (outcome.evaluation is not None) is is_written


def test_an_unknown_type_has_no_scheduler():
    with pytest.raises(UnknownSchedulerType, match="nightly"):
        Cluster().run(make_evaluation(type="nightly"))
