"""What is told of scaling: between which numbers, and what became of an attempt.

In: a group, a scaling event. Out: words. Knows no reader.
"""

from django.utils.translation import gettext

from dashboard.wording import number
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import TaskGroup


def bounds_told(group: TaskGroup) -> str:
    """Between which numbers a group may be scaled, and who sets them."""
    policy = group.scaling
    if policy is None:
        return gettext("any number: its job file sets no bounds")
    if not policy.max:
        told = gettext("at least {min}").format(min=number(policy.min))
    else:
        told = gettext("{min} to {max}").format(min=number(policy.min), max=number(policy.max))
    told = gettext("{told}, set by the job file").format(told=told)
    return (
        gettext("{told}; an autoscaler may change it again").format(told=told)
        if policy.enabled
        else told
    )


def event_told(event: ScalingEvent) -> str:
    """From which number to which; a note says so."""
    if event.count is None:
        kind = "failure" if event.error else "note"
        return gettext("{kind} at {previous_count}").format(
            kind=kind, previous_count=number(event.previous_count)
        )
    return f"{number(event.previous_count)} → {number(event.count)}"
