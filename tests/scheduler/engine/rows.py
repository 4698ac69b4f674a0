"""Words for the rows of the schedulers' scenario tables: jobs, what runs, what a plan does."""

from msgspec.structs import replace

from scheduler.engine.outcome import Outcome
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredTransition
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.plan import ByNode, Plan
from scheduler.structs.resources import Resources
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group

NODES = tuple(make_node(number) for number in range(1, 11))
MIGRATE = DesiredTransition(migrate=True)
#: How an evaluation ends that left nothing to do: status, queued, whether another waits.
DONE = (EvalStatus.COMPLETE, 0, False)


def job_of(count: int = 1, *, cpu: int = 100, version: int = 0, **fields: object) -> Job:
    """A job of one group `web`; fields of the group by their names, of the job in `job`."""
    of_job = fields.pop("job", {})
    task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
    group = make_task_group(**{"count": count, "tasks": (task,), **fields})
    return make_job(task_groups=(group,), version=version, job_modify_index=10 + version, **of_job)


def version_after(job: Job, *, group: dict[str, object], **fields: object) -> Job:
    """The next version: its only group and itself with these fields changed."""
    version = job.version + 1
    return replace(
        job,
        version=version,
        job_modify_index=10 + version,
        task_groups=(replace(job.task_groups[0], **group),),
        **fields,
    )


def running(job: Job, *numbers: int, node: Node = NODES[0], **fields: object) -> list[Allocation]:
    """Allocations of these numbers on one node."""
    return [
        make_allocation(
            job,
            number,
            **{"node_id": node.id, "client_status": ClientStatus.RUNNING, **fields},
        )
        for number in numbers
    ]


def on_each(job: Job, *nodes: Node, **fields: object) -> list[Allocation]:
    """One running allocation of a system job on each node."""
    return [
        *(
            running(job, number, node=node, **{"name": "web.web[0]", **fields})[0]
            for number, node in enumerate(nodes)
        )
    ]


def rollout(job: Job, *, id: str = "dep", **fields: object) -> Deployment:  # noqa: A002 - its name
    """A deployment of the job; fields of its group `web` in `state`."""
    state = fields.pop("state", {})
    if "status" in fields:
        fields["status"] = DeploymentStatus(fields["status"])
    return Deployment(
        **{
            "id": id,
            "job_id": job.id,
            "job_version": job.version,
            "job_create_index": job.create_index,
            "task_groups": {"web": GroupRollout(**state)},
            "create_index": 30 + job.version,
            **fields,
        }
    )


def flat(by_node: ByNode) -> list[Allocation]:
    return [alloc for allocs in by_node.values() for alloc in allocs]


def stops(plan: Plan) -> list[Allocation]:
    return flat(plan.node_update)


def placements(plan: Plan) -> list[Allocation]:
    return [alloc for alloc in flat(plan.node_allocation) if not alloc.create_index]


def updates(plan: Plan) -> list[Allocation]:
    """Allocations that are written anew where they are."""
    return [alloc for alloc in flat(plan.node_allocation) if alloc.create_index]


def ended(outcome: Outcome) -> tuple[EvalStatus, int | None, bool]:
    """How the evaluation ended: status, queued of `web`, whether another waits for room."""
    evaluation = outcome.evaluation
    assert evaluation is not None
    queued = evaluation.queued_allocations.get("web")
    return evaluation.status, queued, bool(evaluation.blocked_eval)
