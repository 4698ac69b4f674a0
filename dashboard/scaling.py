"""What is told of scaling: between which numbers, and what became of an attempt.

In: a group, a scaling event. Out: words. Knows no reader.
"""

from dashboard.wording import number
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import TaskGroup


def bounds_told(group: TaskGroup) -> str:
    """Between which numbers a group may be scaled, and who sets them."""
    policy = group.scaling
    if policy is None:
        return "any number: its job file sets no bounds"
    if not policy.max:
        told = f"at least {number(policy.min)}"
    else:
        told = f"{number(policy.min)} to {number(policy.max)}"
    told = f"{told}, set by the job file"
    return f"{told}; an autoscaler may change it again" if policy.enabled else told


def event_told(event: ScalingEvent) -> str:
    """From which number to which; a note says so."""
    if event.count is None:
        kind = "failure" if event.error else "note"
        return f"{kind} at {number(event.previous_count)}"
    return f"{number(event.previous_count)} → {number(event.count)}"
