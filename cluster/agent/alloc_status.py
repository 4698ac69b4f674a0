"""An allocation's status from those of its tasks."""

from collections.abc import Collection

from scheduler.structs.allocation import ClientStatus, TaskState


def status_of(states: Collection[TaskState]) -> tuple[ClientStatus, str]:
    """The status and what is said of it; the first rule that holds."""
    if any(state.failed and state.state == "dead" for state in states):
        return ClientStatus.FAILED, "Failed tasks"
    if any(state.state == "running" for state in states):
        return ClientStatus.RUNNING, "Tasks are running"
    if any(state.state == "pending" for state in states):
        return ClientStatus.PENDING, "No tasks have started"
    return ClientStatus.COMPLETE, "All tasks have completed"
