"""Merging what nodes report of their allocations into the record (control-plane.md 10).

In: a batch of reports. Out: merged rows, the evaluations they cause, and what frees capacity. Who
may report is checked by the door.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from scheduler.ports import Change, IDSource
from scheduler.state.writes.deployments import count_in_deployment
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.job_status import refresh_job_statuses
from scheduler.state.writes.rescheduling import may_reschedule
from scheduler.state.writes.summaries import count_allocation
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    TaskState,
)
from scheduler.structs.evaluation import (
    Cause,
    CauseKind,
    EvalStatus,
    EvalTrigger,
    Evaluation,
)
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

_ANSWERS_A_FOLLOW_UP = frozenset(
    {ClientStatus.RUNNING, ClientStatus.COMPLETE, ClientStatus.FAILED}
)
_ENDED_ON_NODE = frozenset({ClientStatus.COMPLETE, ClientStatus.FAILED})


class ClientUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch of reports left behind."""

    evaluations: tuple[Evaluation, ...]
    #: Merged rows that are now complete or failed: capacity of their nodes came free.
    freed: tuple[Allocation, ...]
    #: Follow-up evaluations that were canceled because their allocations came back.
    canceled: tuple[str, ...]


def update_from_client(
    change: Change, updates: Iterable[Allocation], ids: IDSource
) -> ClientUpdate:
    """Merge reports, newest last; at most one evaluation per job, in the same write.

    Unknown allocations are passed over, and so is what an ended one did before it ended; their
    node counts as having reported all the same.
    """
    reports = list(updates)
    change.preload(
        allocs=[report.id for report in reports], nodes=[report.node_id for report in reports]
    )
    made: dict[JobKey, Evaluation] = {}
    merged: list[Allocation] = []
    canceled: list[str] = []
    for report in reports:
        stored = change.allocation(report.id)
        if stored is None or _is_late(stored, report):
            continue
        evaluation = _evaluation(change, stored, report)
        if evaluation is not None:
            made.setdefault(stored.job_key, evaluation)
        after = _merge(change, stored, report)
        if after.followup_eval_id != stored.followup_eval_id and _cancel_follow_up(change, stored):
            canceled.append(stored.followup_eval_id)
        merged.append(after)
    refresh_job_statuses(change, (alloc.job_key for alloc in merged))
    evaluations = [evaluation.changed(id=ids.next_id()) for evaluation in made.values()]
    written = write_evaluations(change, evaluations)
    _mark_nodes(change, (report.node_id for report in reports))
    return ClientUpdate(
        evaluations=written,
        freed=tuple(alloc for alloc in merged if alloc.client_status in _ENDED_ON_NODE),
        canceled=tuple(canceled),
    )


def _is_late(stored: Allocation, report: Allocation) -> bool:
    """Whether the node has told the allocation's end already, and this is older news."""
    return stored.client_status in _ENDED_ON_NODE and report.client_status not in _ENDED_ON_NODE


def needs_reconnect(alloc: Allocation) -> bool:
    """The newest recorded client status is `unknown`: its return was not accepted yet."""
    for state in reversed(alloc.alloc_states):
        if state.field == 0:
            return state.value == ClientStatus.UNKNOWN
    return False


def _evaluation(change: Change, stored: Allocation, report: Allocation) -> Evaluation | None:
    """The evaluation a report asks for, without an id."""
    if not report.is_client_terminal and stored.client_status is not ClientStatus.UNKNOWN:
        return None
    job = change.job(stored.job_key)
    if job is None:
        return _made(change, stored, EvalTrigger.JOB_DEREGISTER, None, "its job is gone")
    if report.client_status is ClientStatus.FAILED and not stored.followup_eval_id:
        group = job.task_group(stored.task_group)
        if group is None:
            return None
        failed_at = _failed_at(report, change.now)
        if stored.client_status is not ClientStatus.UNKNOWN and may_reschedule(
            stored.reschedule_tracker, group.reschedule_policy, failed_at
        ):
            return _made(change, stored, EvalTrigger.ALLOC_FAILURE, job, "the allocation failed")
    if stored.client_status is ClientStatus.UNKNOWN:
        return _made(change, stored, EvalTrigger.RECONNECT, job, "its node reported again")
    return None


def _made(
    change: Change, alloc: Allocation, trigger: EvalTrigger, job: Job | None, text: str
) -> Evaluation:
    return Evaluation(
        namespace=alloc.namespace,
        priority=job.priority if job else alloc.job_priority,
        type=job.type if job else alloc.job_type,
        triggered_by=trigger,
        job_id=alloc.job_id,
        create_time=change.now,
        modify_time=change.now,
        cause=Cause(kind=CauseKind.ALLOCATION, id=alloc.id, index=change.index, text=text),
    )


def _failed_at(report: Allocation, now: int) -> int:
    return max((state.finished_at for state in report.task_states.values()), default=0) or now


def _merge(change: Change, stored: Allocation, report: Allocation) -> Allocation:
    """Take over what the node owns; its moves of counters and summaries follow."""
    answers = (
        bool(stored.followup_eval_id)
        and needs_reconnect(stored)
        and report.client_status in _ANSWERS_A_FOLLOW_UP
    )
    after = stored.changed(
        client_status=report.client_status,
        client_description=report.client_description,
        task_states=_task_states(stored.task_states, report.task_states),
        network_status=report.network_status or stored.network_status,
        deployment_status=_health(stored, report, change.index),
        followup_eval_id="" if answers else stored.followup_eval_id,
        modify_index=change.index,
        modify_time=change.now,
    )
    change.put_allocation(after)
    count_in_deployment(change, stored, after)
    count_allocation(change, stored, after)
    return after


def _task_states(
    stored: Mapping[str, TaskState], reported: Mapping[str, TaskState]
) -> dict[str, TaskState]:
    return dict(reported) if reported else dict(stored)


def _health(stored: Allocation, report: Allocation, index: int) -> DeploymentHealth | None:
    old, new = stored.deployment_status, report.deployment_status
    if old is None:
        return replace(new, modify_index=index) if new is not None else None
    if new is None or new.healthy is None or new.healthy is old.healthy:
        return old
    return replace(old, healthy=new.healthy, timestamp=new.timestamp, modify_index=index)


def _cancel_follow_up(change: Change, alloc: Allocation) -> bool:
    """Cancel the evaluation an allocation waited for, unless another one waits for it too."""
    eval_id = alloc.followup_eval_id
    evaluation = change.evaluation(eval_id)
    if evaluation is None or evaluation.status is EvalStatus.FAILED:
        # What it could not do is tried again by a follow-up of its own.
        return False
    is_shared = any(
        other.followup_eval_id == eval_id and other.id != alloc.id and not other.is_terminal
        for other in change.allocations_by_job(alloc.job_key)
    )
    if is_shared:
        return False
    change.put_evaluation(
        evaluation.changed(
            status=EvalStatus.CANCELED,
            status_description="allocs reconnected",
            modify_index=change.index,
        )
    )
    return True


def _mark_nodes(change: Change, node_ids: Iterable[str]) -> None:
    """Note that these nodes have reported: what lets a reconnected node become ready."""
    for node_id in dict.fromkeys(node_ids):
        node = change.node(node_id)
        if node is not None:
            change.put_node(
                replace(node, last_alloc_update_index=change.index, modify_index=change.index)
            )
