"""What columns say that is no field of a struct: sums, choices and words, one function each.

In: a value. Out: a text, a number or a truth to be found by. Called for every row that is written.
"""

from collections.abc import Callable
from operator import attrgetter

from scheduler.state.node_use import use_of
from scheduler.structs.allocation import Allocation, DesiredTransition
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobStatus
from scheduler.structs.node import Node

_SECOND = 1_000_000_000
#: SQL for jobs that `parent_while_alive` finds a parent of.
IS_LIVE_CHILD = "NOT (parent_id = '') AND NOT (status = 'dead')"
_NO_TRANSITION = DesiredTransition()


def wanted_count(job: Job) -> int:
    """The counts of its groups together, whether or not it is stopped."""
    return sum(group.count for group in job.task_groups)


def dispatch_token(job: Job) -> str:
    """What tells one dispatch from another; of a registered job it means nothing."""
    return job.dispatch_idempotency_token if job.dispatched else ""


def dispatch_place(job: Job) -> tuple[str, str, str] | None:
    """Among which children of which parent its token is looked for."""
    token = dispatch_token(job)
    return (job.namespace, job.parent_id, token) if token else None


def parent_while_alive(job: Job) -> JobKey | None:
    """The job that launched it, until it has ended."""
    is_alive = job.parent_id and job.status != JobStatus.DEAD
    return JobKey(job.namespace, job.parent_id) if is_alive else None


def node_cpu_mhz(node: Node) -> int:
    """MHz for allocations: without what the node keeps for itself."""
    return max(node.node_resources.cpu.cpu_shares - node.reserved_resources.cpu.cpu_shares, 0)


def node_memory_mb(node: Node) -> int:
    """MiB for allocations: without what the node keeps for itself."""
    return max(node.node_resources.memory.memory_mb - node.reserved_resources.memory.memory_mb, 0)


def drain_deadline(node: Node) -> int:
    """When what still runs is stopped by force, ns; 0 without a drain or a limit."""
    return node.drain_strategy.force_deadline if node.drain_strategy else 0


def status_changed_at(node: Node) -> int:
    """When its status changed last, ns; a node keeps seconds."""
    return node.status_updated_at * _SECOND


def cpu_mhz(alloc: Allocation) -> int:
    """MHz it takes of its node, as `use_of` counts them."""
    tasks = alloc.allocated_resources.tasks
    # Of one task no phases are to be compared, and most allocations have one.
    if len(tasks) == 1:
        for task in tasks.values():
            return task.cpu.cpu_shares
    return use_of(alloc).cpu


def memory_mb(alloc: Allocation) -> int:
    """MiB it takes of its node, as `use_of` counts them."""
    tasks = alloc.allocated_resources.tasks
    if len(tasks) == 1:
        for task in tasks.values():
            return task.memory.memory_mb
    return use_of(alloc).memory_mb


def restart_count(alloc: Allocation) -> int:
    """How often its tasks were restarted on its node."""
    states = alloc.task_states
    return sum([state.restarts for state in states.values()]) if states else 0


def is_healthy(alloc: Allocation) -> bool | None:
    """For its deployment; None while it is not judged."""
    return alloc.deployment_status.healthy if alloc.deployment_status else None


def desired_transition(alloc: Allocation) -> str:
    """What the scheduler is to do with it, in words parted by spaces; "" for nothing."""
    wanted = alloc.desired_transition
    if wanted == _NO_TRANSITION:
        return ""
    words = {
        "migrate": wanted.migrate,
        "reschedule": wanted.reschedule,
        "force-reschedule": wanted.force_reschedule,
        "no-shutdown-delay": wanted.no_shutdown_delay,
        "migrate-disable-placement": wanted.migrate_disable_placement,
    }
    return " ".join(word for word, is_wanted in words.items() if is_wanted)


def waits_for_promotion(deployment: Deployment) -> bool:
    """It has not ended, and a group has canaries that nobody promoted."""
    return deployment.is_active and any(
        group.desired_canaries > 0 and not group.promoted
        for group in deployment.task_groups.values()
    )


#: Their index by status, and by whether there are canaries that nobody promoted.
CANARIES: tuple[Callable[[Deployment], tuple[str, bool]], tuple[str, ...]] = (
    lambda deployment: (deployment.status.value, waits_for_promotion(deployment)),
    ("status", "waits_for_promotion"),
)

#: Of evaluations, and of what is left of collected ones.
EVALUATION_COLUMNS: dict[str, Callable[[Evaluation], object]] = {
    "namespace": lambda evaluation: evaluation.namespace,
    "job_id": lambda evaluation: evaluation.job_id,
    "type": lambda evaluation: evaluation.type,
    "triggered_by": lambda evaluation: str(evaluation.triggered_by),
    "status": lambda evaluation: evaluation.status.value,
    "previous_eval": lambda evaluation: evaluation.previous_eval,
    "deployment_id": lambda evaluation: evaluation.deployment_id,
    "cause_kind": lambda evaluation: evaluation.cause.kind.value if evaluation.cause else "",
    "cause_id": lambda evaluation: evaluation.cause.id if evaluation.cause else "",
    "create_index": lambda evaluation: evaluation.create_index,
    "modify_index": lambda evaluation: evaluation.modify_index,
    "priority": lambda evaluation: evaluation.priority,
    "story_id": lambda evaluation: evaluation.story_id,
}
EVALUATION_INSTANTS: dict[str, Callable[[Evaluation], int]] = {
    "created_at": attrgetter("create_time"),
    "modified_at": attrgetter("modify_time"),
    "wait_until": attrgetter("wait_until"),
}
