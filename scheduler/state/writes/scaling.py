"""What the record keeps about scaling: policies beside their job, events of its groups.

In: a job that is written, or an event. Out: rows put and deleted (control-plane.md 11.5). Whether
a group may be scaled is not asked here.
"""

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.structs.job import Job
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import ScalingPolicy

#: Events kept of one group.
KEPT_EVENTS = 20


def keep_policies(change: Change, before: Job | None, job: Job) -> Job:
    """Make the rows of a job's policies say what the job says; the job with their numbers.

    Policies of groups only: those of tasks stay a part of the job. What did not change is not
    written, so that their table's index stands still.
    """
    if not (_has_policies(job) or (before is not None and _has_policies(before))):
        return job
    known = {_key(row): row for row in change.list_by(SCALING_POLICIES, "job", job.key)}
    groups = []
    for group in job.task_groups:
        policy = group.scaling
        if policy is not None and policy.id:
            kept = _kept(change, policy, known.pop(_key(policy), None))
            group = replace(group, scaling=kept)  # noqa: PLW2901 - the group being built
        groups.append(group)
    for row in known.values():
        change.delete(SCALING_POLICIES, row.id)
    return replace(job, task_groups=tuple(groups))


def drop_policies(change: Change, job: Job) -> None:
    """Delete the policies of a job that is purged."""
    if _has_policies(job):
        for row in change.list_by(SCALING_POLICIES, "job", job.key):
            change.delete(SCALING_POLICIES, row.id)


def record_scaling(change: Change, event: ScalingEvent) -> None:
    """Store an event, and forget the oldest of its group beyond `KEPT_EVENTS`."""
    of_group = [
        row
        for row in change.list_by(SCALING_EVENTS, "job", event.job_key)
        if row.task_group == event.task_group
    ]
    for row in of_group[: max(0, len(of_group) + 1 - KEPT_EVENTS)]:
        change.delete(SCALING_EVENTS, (row.job_key, row.create_index))
    change.put(SCALING_EVENTS, event)


def _kept(change: Change, policy: ScalingPolicy, row: ScalingPolicy | None) -> ScalingPolicy:
    """The policy as its row has it; the row is written when it says something else."""
    if row is None:
        new = replace(policy, create_index=change.index, modify_index=change.index)
        change.put(SCALING_POLICIES, new)
        return new
    # One of an older version may have another id: the row's stands.
    same = replace(policy, id=row.id, create_index=row.create_index, modify_index=row.modify_index)
    if same == row:
        return row
    changed = replace(same, modify_index=change.index)
    change.put(SCALING_POLICIES, changed)
    return changed


def _has_policies(job: Job) -> bool:
    return any(group.scaling is not None and group.scaling.id != "" for group in job.task_groups)


def _key(policy: ScalingPolicy) -> tuple[str, str]:
    return policy.type, policy.task_group
