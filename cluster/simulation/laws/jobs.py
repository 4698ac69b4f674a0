"""What must hold of jobs and their allocations after each write."""

from collections import Counter
from collections.abc import Iterator, Sequence

from cluster.simulation.laws.law import Laws, Written
from cluster.simulation.laws.quiet import has_canaries
from scheduler.state.events import WriteKind
from scheduler.state.node_use import use_of
from scheduler.state.nouns import (
    ALLOCATIONS,
    JOB_SUMMARIES,
    JOBS,
    NAMESPACE_USES,
    NAMESPACES,
    QUOTAS,
)
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.quota_use import with_use
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSummary, JobType, TaskGroupSummary
from scheduler.structs.node import NodeStatus
from scheduler.structs.periodic_launch import LaunchOutcome
from scheduler.structs.quota import QuotaAmounts

#: By how much more urgent who evicts must be.
_PRIORITY_GAP = 10
_NAMED_ONCE = (JobType.SERVICE, JobType.BATCH)
LAWS: Laws[Written] = Laws()


@LAWS.add("names", "no name is placed while an allocation of that name is still wanted")
def _names(look: Written) -> Iterator[str]:
    for alloc in _placed(look):
        if _shares_names(look, alloc):
            continue
        for other in _rivals(look, alloc):
            if alloc.job_type in _NAMED_ONCE and other.name == alloc.name:
                yield f"{alloc.name} is placed as {_short(alloc)} beside {_short(other)}"
            elif alloc.job_type not in _NAMED_ONCE and (other.node_id, other.name) == (
                alloc.node_id,
                alloc.name,
            ):
                yield f"{alloc.name} is placed twice on {alloc.node_name}"


@LAWS.add("count", "never more of a group are wanted at a placement than any version asks for")
def _count(look: Written) -> Iterator[str]:
    for alloc in _placed(look):
        if alloc.job_type not in _NAMED_ONCE or _shares_names(look, alloc):
            continue
        members = [alloc, *_rivals(look, alloc)]
        versions = look.record.job_versions(alloc.job_key)
        groups = [version.task_group(alloc.task_group) for version in versions]
        most = max((group.count for group in groups if group is not None), default=0)
        if len(members) > most:
            yield f"{alloc.job_id}.{alloc.task_group} has {len(members)}, and asks for {most}"


@LAWS.add("canaries", "never more canaries live than the rollout asks for")
def _canaries(look: Written) -> Iterator[str]:
    for alloc in _placed(look):
        rollout = look.record.deployment(alloc.deployment_id)
        if not _is_canary(alloc) or rollout is None:
            continue
        group = rollout.task_groups.get(alloc.task_group)
        live = [
            other
            for other in look.record.allocations_by_deployment(rollout.id)
            if _is_canary(other)
            and not other.is_terminal
            and not _is_away(look, other)
            and not _stands_in(look, other)
        ]
        if group is None or alloc.job_type != JobType.SERVICE:
            continue
        if len(live) > group.desired_canaries:
            yield f"{alloc.job_id} has {len(live)} canaries of {group.desired_canaries}"


def _stands_in(look: Written, alloc: Allocation) -> bool:
    """It replaces a canary of a rollout before, whose stop was refused with its node.

    Lost or drained there it is replaced by another canary (reconciler.md 13.1), beside those
    that the rollout of now asks for.
    """
    previous = look.record.allocation(alloc.previous_allocation)
    if previous is None or previous.deployment_id == alloc.deployment_id:
        return False
    before = look.record.deployment(previous.deployment_id)
    group = before.task_groups.get(alloc.task_group) if before is not None else None
    return group is None or not group.promoted


@LAWS.add("replaced-once", "an allocation is replaced by one other, and both say so")
def _replaced(look: Written) -> Iterator[str]:
    for alloc in _placed(look):
        previous = look.record.allocation(alloc.previous_allocation)
        if previous is not None and previous.next_allocation != alloc.id:
            yield f"{_short(alloc)} replaces {_short(previous)}, which names another"


@LAWS.add("for-a-job", "nothing is placed for a job that is stopped or gone")
def _for_a_job(look: Written) -> Iterator[str]:
    for alloc in _placed(look):
        job = look.record.job(alloc.job_key)
        if job is None or job.stop:
            yield f"{_short(alloc)} is placed, and its job is {'stopped' if job else 'gone'}"
        elif look.record.job_of(alloc) is None:
            yield f"{_short(alloc)} is of a version that nobody knows"


@LAWS.add("wanted-once", "what is not wanted any more is never wanted again, and ends once")
def _wanted_once(look: Written) -> Iterator[str]:
    for before, after in look.of(ALLOCATIONS):
        if before is None or after is None:
            continue
        if before.desired_status is not after.desired_status is DesiredStatus.RUN:
            yield f"{_short(after)} was to stop, and is wanted again"
        ended = (ClientStatus.COMPLETE, ClientStatus.FAILED)
        if before.client_status in ended and after.client_status not in ended:
            was, is_ = before.client_status, after.client_status
            yield f"{_short(after)} had ended as {was} and is {is_}"
        if (before.job_key, before.name, before.node_id) != (
            after.job_key,
            after.name,
            after.node_id,
        ):
            yield f"{_short(after)} became another allocation"


@LAWS.add("evicted-by-the-urgent", "only who is more urgent by ten evicts")
def _evicted(look: Written) -> Iterator[str]:
    for before, after in look.of(ALLOCATIONS):
        if after is None or after.desired_status is not DesiredStatus.EVICT:
            continue
        if before is not None and before.desired_status is DesiredStatus.EVICT:
            continue
        by = look.record.allocation(after.preempted_by_allocation)
        if by is None:
            yield f"{_short(after)} is evicted by nobody"
        elif by.job_priority < after.job_priority + _PRIORITY_GAP:
            yield f"{_short(after)} of {after.job_priority} is evicted for {by.job_priority}"


@LAWS.add("summary", "a job's counts are those of its allocations and children")
def _summary(look: Written) -> Iterator[str]:
    keys = {
        JobKey(row.namespace, row.job_id)
        for _, before, after in look.rows
        for row in (before, after)
        if isinstance(row, Allocation | JobSummary)
    }
    for key in sorted(keys):
        summary = look.record.get(JOB_SUMMARIES, key)
        if summary is None:
            continue
        counted = Counter(
            (alloc.task_group, alloc.client_status)
            for alloc in look.record.allocations_by_job(key)
            if alloc.job_create_index == summary.create_index
        )
        for group, kept in summary.summary.items():
            for found in _miscounted(kept, group, counted):
                yield f"{key.job_id}.{group}: {found}"


def _miscounted(
    kept: TaskGroupSummary, group: str, counted: Counter[tuple[str, ClientStatus]]
) -> Iterator[str]:
    for name, count, status in (
        ("starting", kept.starting, ClientStatus.PENDING),
        ("running", kept.running, ClientStatus.RUNNING),
        ("unknown", kept.unknown, ClientStatus.UNKNOWN),
    ):
        if count != counted[group, status]:
            yield f"{name} is {count}, counted {counted[group, status]}"
    for name, count, status in (
        ("complete", kept.complete, ClientStatus.COMPLETE),
        ("failed", kept.failed, ClientStatus.FAILED),
        ("lost", kept.lost, ClientStatus.LOST),
    ):
        # Ends are counted for good, also of what was collected since.
        if count < counted[group, status]:
            yield f"{name} is {count}, counted {counted[group, status]}"


@LAWS.add("children", "a parent counts its children by their statuses")
def _children(look: Written) -> Iterator[str]:
    parents = {
        JobKey(row.namespace, row.parent_id)
        for pair in look.of(JOBS)
        for row in pair
        if row is not None and row.parent_id
    }
    for key in sorted(parents):
        summary = look.record.get(JOB_SUMMARIES, key)
        if summary is None:
            continue
        children = [job for job in look.record.jobs() if job.parent_id == key.job_id]
        if any(job.create_index < summary.create_index for job in children):
            # Of a parent that was purged before: their ends are told to the one of now.
            continue
        counted = Counter(job.status for job in children if job.namespace == key.namespace)
        kept = summary.children
        if (kept.pending, kept.running) != (counted["pending"], counted["running"]):
            yield f"{key.job_id}: {kept} counted {dict(counted)}"
        if kept.dead < counted["dead"]:
            yield f"{key.job_id}: {kept.dead} dead, counted {counted['dead']}"


@LAWS.add("once", "a token dispatches one child, and no due launch runs twice")
def _once(look: Written) -> Iterator[str]:
    for before, job in look.of(JOBS):
        if job is None or not job.parent_id:
            continue
        token = job.dispatch_idempotency_token
        if before is None and token:
            parent = JobKey(job.namespace, job.parent_id)
            same = look.record.list_by(JOBS, "dispatch_token", (*parent, token))
            if len(same) > 1:
                yield f"{token} dispatched {', '.join(child.id for child in same)}"
        if before is not None and before.version != job.version and not job.stop:
            yield f"{job.id} was made a second time"
    for _, launches in look.of(PERIODIC_LAUNCHES):
        past = launches.history if launches is not None else ()
        ran = Counter(each.due for each in past if each.outcome is LaunchOutcome.RAN)
        twice = (due for due, times in ran.items() if times > 1)
        yield from (f"the launch due at {due} ran twice" for due in twice)


@LAWS.add("quota-sums", "the sums kept beside a namespace are those of its allocations")
def _quota_sums(look: Written) -> Iterator[str]:
    changed = {row.namespace for pair in look.of(ALLOCATIONS) for row in pair if row is not None}
    for name in sorted(changed):
        sums = QuotaAmounts()
        for alloc in look.record.allocations():
            if alloc.namespace == name and not alloc.is_client_terminal:
                sums = with_use(sums, use_of(alloc))
        stored = look.record.get(NAMESPACE_USES, name)
        kept = stored.used if stored is not None else QuotaAmounts()
        if kept != sums:
            yield f"{name} is kept as {kept}, counted {sums}"


@LAWS.add("quota", "a plan never takes a namespace further over its quota")
def _quota(look: Written) -> Iterator[str]:
    if look.frame.kind != WriteKind.PLAN_RESULT:
        return
    more: dict[str, list[int]] = {}
    for before, after in look.of(ALLOCATIONS):
        for alloc, sign in ((before, -1), (after, 1)):
            if alloc is not None and not alloc.is_terminal:
                use = use_of(alloc)
                sums = more.setdefault(alloc.namespace, [0, 0, 0])
                for place, amount in enumerate((use.cpu, use.memory_mb, 1)):
                    sums[place] += sign * amount
    for name, grown in more.items():
        namespace = look.record.get(NAMESPACES, name)
        quota = look.record.get(QUOTAS, namespace.quota) if namespace else None
        if quota is None:
            continue
        used = _wanted_use(look, name)
        for what, taken, limit, growth in zip(
            ("MHz", "MB", "allocations"),
            used,
            (quota.limits.cpu, quota.limits.memory_mb, quota.limits.allocations),
            grown,
            strict=True,
        ):
            if limit and taken > limit and growth > 0:
                yield f"{name} takes {taken} of {limit} {what}"


def _wanted_use(look: Written, namespace: str) -> tuple[int, int, int]:
    """MHz, MB and allocations of what is wanted; what was told to stop is on its way out."""
    uses = [
        use_of(alloc)
        for alloc in look.record.allocations()
        if alloc.namespace == namespace and not alloc.is_terminal
    ]
    return sum(use.cpu for use in uses), sum(use.memory_mb for use in uses), len(uses)


def _placed(look: Written) -> list[Allocation]:
    return [after for before, after in look.of(ALLOCATIONS) if before is None and after]


def _rivals(look: Written, alloc: Allocation) -> Sequence[Allocation]:
    """The others of its group that are wanted, here and not about to move."""
    return [
        other
        for other in look.record.allocations_by_job(alloc.job_key)
        if other.id != alloc.id
        and not other.is_terminal
        and other.task_group == alloc.task_group
        and other.job_create_index == alloc.job_create_index
        and not _is_canary(alloc)
        and not _is_canary(other)
        and not other.desired_transition.migrate
        and not _is_away(look, other)
        and not _was_to_stop(look, alloc, other)
    ]


def _was_to_stop(look: Written, alloc: Allocation, other: Allocation) -> bool:
    """Its node refused its part of the plan, and with it the stop: the run tries again.

    Closed or full, a node refuses stops with placements (evaluations.md 9.2); what the
    same plan places elsewhere stays.
    """
    if other.next_allocation != alloc.id:
        return False
    run = look.record.evaluation(alloc.eval_id)
    return run is not None and not run.is_terminal


def _shares_names(look: Written, alloc: Allocation) -> bool:
    """Canaries, and those that stand in for others out of reach, have the names of those.

    What is placed beside them gets any name (reconciler.md 16).
    """
    if alloc.job_type not in _NAMED_ONCE:
        return False
    groups = (job.task_group(alloc.task_group) for job in look.record.job_versions(alloc.job_key))
    if any(group is not None and has_canaries(group) for group in groups):
        return True
    return any(
        _is_canary(other) or _is_away(look, other)
        for other in look.record.allocations_by_job(alloc.job_key)
        if other.task_group == alloc.task_group
        and (not other.is_terminal or other.modify_index == look.frame.index)
    )


def _is_away(look: Written, alloc: Allocation) -> bool:
    """Its node was or is out of reach: it may have been replaced while nobody knew."""
    if any(state.value == ClientStatus.UNKNOWN for state in alloc.alloc_states):
        return True
    node = look.record.node(alloc.node_id)
    return node is None or node.status is not NodeStatus.READY


def _is_canary(alloc: Allocation) -> bool:
    return alloc.deployment_status is not None and alloc.deployment_status.canary


def _short(alloc: Allocation) -> str:
    return f"{alloc.name} ({alloc.id[-4:]})"
