"""Scaling a job: what each group may be scaled to, and what became of the last attempts.

In: a reader and the job. Out: the context of `_job_scale.html`, in two reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from cluster.operations.scaling import is_rolled_out
from cluster.store.ports import RecordReader
from dashboard.graphs.steps_chart import StepChart, step_chart
from dashboard.scaling import bounds_told, event_told
from dashboard.subscription import Subscription
from scheduler.state.scaling_nouns import SCALING_EVENTS
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import TaskGroup

#: Events of all groups together that are listed.
MAX_EVENTS = 20


class ScaleTyped(msgspec.Struct, frozen=True, kw_only=True):
    """The form as it was sent, and why it was refused."""

    counts: Mapping[str, str]
    #: The group whose button was pressed.
    group: str
    error: str
    message: str = ""


class ScaleLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group: its bounds, its history, what stands in its field."""

    group: TaskGroup
    bounds: str
    #: None while its number was never changed.
    chart: StepChart | None
    #: What stands in its field.
    shown: str
    is_wrong: bool


class EventLine(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to scale, or a note about one."""

    event: ScalingEvent
    told: str
    is_refused: bool


def scale_context(
    reader: RecordReader, job: Job, typed: ScaleTyped | None = None
) -> dict[str, Any]:
    """The section; `scale` is None for a job whose groups have no number of their own."""
    if job.stop or job.type in {JobType.SYSTEM.value, JobType.SYSBATCH.value}:
        return {"scale": None}
    events = sorted(
        reader.list_by(SCALING_EVENTS, "job", job.key), key=lambda each: each.create_index
    )
    return {
        "job": job,
        "scale": {
            "groups": [_line(group, events, typed) for group in job.task_groups],
            "typed": typed,
            "events": [_event(each) for each in events[::-1][:MAX_EVENTS]],
            "more": max(len(events) - MAX_EVENTS, 0),
            "is_rolled_out": is_rolled_out(reader, job),
        },
    }


def scale_panel(reader: RecordReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """The section again; None once the job is purged."""
    namespace, _, job_id = subscription.key.partition("/")
    job = reader.job(JobKey(namespace, job_id))
    found = {"scale": None} if job is None else scale_context(reader, job)
    return {"job": job, **found, "may": subscription.may}


def _line(group: TaskGroup, events: Sequence[ScalingEvent], typed: ScaleTyped | None) -> ScaleLine:
    of_group = [each for each in events if each.task_group == group.name]
    counts = typed.counts if typed is not None else {}
    return ScaleLine(
        group=group,
        bounds=bounds_told(group),
        chart=_chart(group, of_group),
        shown=counts.get(group.name, str(group.count)),
        is_wrong=typed is not None and typed.group == group.name,
    )


def _chart(group: TaskGroup, events: Iterable[ScalingEvent]) -> StepChart | None:
    steps = [(each.time, each.previous_count, each.count) for each in events]
    if not any(count is not None for _, _, count in steps):
        return None
    policy = group.scaling
    return step_chart(steps, now_count=group.count, limit=policy.max if policy is not None else 0)


def _event(event: ScalingEvent) -> EventLine:
    return EventLine(event=event, told=event_told(event), is_refused=event.error)
