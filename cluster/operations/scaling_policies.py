"""Identifiers of the scaling policies in a job: kept from version to version, made for new ones.

In: a job, its stored version. Out: the job with every policy named. Knows nothing of what they do;
their rows are `scheduler.state.writes.scaling`'s.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from scheduler.ports import IDSource
from scheduler.structs.job import Job
from scheduler.structs.task_group import ScalingPolicy, Task, TaskGroup

Change = Callable[[ScalingPolicy], ScalingPolicy]


def with_policy_ids(job: Job, stored: Job | None, ids: IDSource) -> Job:
    """The job with the stored id for each policy of the same type and target, else a new one.

    The numbers of writes are the record's, whatever the request says of them.
    """
    known = {} if stored is None else {_key(each): each for each in policies(stored)}

    def named(policy: ScalingPolicy) -> ScalingPolicy:
        before = known.get(_key(policy))
        if before is None or not before.id:
            return replace(policy, id=ids.next_id(), create_index=0, modify_index=0)
        return replace(
            policy,
            id=before.id,
            create_index=before.create_index,
            modify_index=before.modify_index,
        )

    return _with_policies(job, named)


def with_own_policies(job: Job, ids: IDSource) -> Job:
    """A job launched by another one: its policies are new, and about itself."""
    return _with_policies(
        job,
        lambda policy: replace(policy, id=ids.next_id(), target={**policy.target, "Job": job.id}),
    )


def policies(job: Job) -> Iterator[ScalingPolicy]:
    """Every policy of the job, groups first."""
    for group in job.task_groups:
        if group.scaling is not None:
            yield group.scaling
        for task in group.tasks:
            yield from task.scaling_policies


def _key(policy: ScalingPolicy) -> tuple[str, str, str]:
    return policy.type, policy.target.get("Group", ""), policy.target.get("Task", "")


def _with_policies(job: Job, change: Change) -> Job:
    if next(policies(job), None) is None:
        return job
    return replace(job, task_groups=tuple(_group(group, change) for group in job.task_groups))


def _group(group: TaskGroup, change: Change) -> TaskGroup:
    scaling = None if group.scaling is None else change(group.scaling)
    return replace(
        group, scaling=scaling, tasks=tuple(_task(task, change) for task in group.tasks)
    )


def _task(task: Task, change: Change) -> Task:
    if not task.scaling_policies:
        return task
    return replace(task, scaling_policies=tuple(map(change, task.scaling_policies)))
