"""What the recorded states and times of one allocation say about it (reconciler.md 1.2).

In: an allocation, the group it was made from, `now`. Out: predicates and instants, ns.
"""

from scheduler.structs.allocation import (
    Allocation,
    AllocState,
    ClientStatus,
    DesiredStatus,
    TaskState,
)
from scheduler.structs.policies import SECOND
from scheduler.structs.task_group import TaskGroup

_DEFAULT_KILL_TIMEOUT = 5 * SECOND
_CLIENT_STATUS_FIELD = 0


def is_canary(alloc: Allocation) -> bool:
    """It was placed as a canary and has not been promoted."""
    return alloc.deployment_status is not None and alloc.deployment_status.canary


def is_healthy(alloc: Allocation) -> bool:
    """Its deployment judged it healthy."""
    return alloc.deployment_status is not None and alloc.deployment_status.healthy is True


def is_unhealthy(alloc: Allocation) -> bool:
    """Its deployment judged it unhealthy."""
    return alloc.deployment_status is not None and alloc.deployment_status.healthy is False


def ran_successfully(alloc: Allocation) -> bool:
    """All its tasks ended, none of them failed. Never true without task states."""
    states = alloc.task_states.values()
    return bool(states) and all(state.state == "dead" and not state.failed for state in states)


def failed_to_be_replaced(alloc: Allocation) -> bool:
    """Its last replacement found no node."""
    tracker = alloc.reschedule_tracker
    return tracker is not None and tracker.last_reschedule not in ("", "ok")


def needs_reconnect(alloc: Allocation) -> bool:
    """The server saw its node vanish and has not accepted its return yet."""
    for state in reversed(alloc.alloc_states):
        if state.field == _CLIENT_STATUS_FIELD and state.value:
            return state.value == ClientStatus.UNKNOWN
    return False


def last_unknown_time(alloc: Allocation) -> int:
    """When its newest unbroken spell of being unknown began; 0 when there was none."""
    began = 0
    for state in reversed(alloc.alloc_states):
        if state.field == _CLIENT_STATUS_FIELD and state.value == ClientStatus.UNKNOWN:
            began = state.time
        elif began:
            break
    return began


def is_expired(alloc: Allocation, origin: TaskGroup | None, now: int) -> bool:
    """It has been unknown for as long as its group allows; without a disconnect block, at once."""
    if alloc.client_status is not ClientStatus.UNKNOWN or origin is None:
        return False
    began = last_unknown_time(alloc)
    return began != 0 and began + lost_after(origin) <= now


def lost_after(origin: TaskGroup | None) -> int:
    """How long an allocation of this group may be unknown, ns; 0: not at all."""
    return origin.disconnect.lost_after if origin and origin.disconnect else 0


def replace_on_disconnect(origin: TaskGroup | None) -> bool:
    """Whether a disconnected allocation of this group is replaced elsewhere."""
    return not (origin and origin.disconnect and origin.disconnect.replace is False)


def last_event_time(alloc: Allocation) -> int:
    """When its last task ended, or when it was last modified."""
    finished = max((state.finished_at for state in alloc.task_states.values()), default=0)
    return finished or alloc.modify_time


def last_start(state: TaskState | None) -> int:
    """When a task was last started; 0 when it never was."""
    if state is None:
        return 0
    return state.last_restart if state.restarts > 0 else state.started_at


def must_stop_on_client(origin: TaskGroup | None) -> bool:
    """Its node stops it by itself some time after losing the servers."""
    return bool(origin and origin.disconnect and origin.disconnect.stop_on_client_after)


def client_stop_deadline(alloc: Allocation, origin: TaskGroup, now: int) -> int:
    """By when a lost allocation has certainly been stopped by its node."""
    lost_at = next(
        (
            state.time
            for state in alloc.alloc_states
            if state.field == _CLIENT_STATUS_FIELD and state.value == ClientStatus.LOST
        ),
        now,
    )
    patience = (origin.disconnect.stop_on_client_after if origin.disconnect else 0) or 0
    kill = max((task.kill_timeout for task in origin.tasks), default=0)
    return lost_at + patience + max(_DEFAULT_KILL_TIMEOUT, kill)


def with_state(alloc: Allocation, status: ClientStatus, now: int) -> Allocation:
    """A copy whose history ends in `status` at `now`; the client status itself stays."""
    entry = AllocState(field=_CLIENT_STATUS_FIELD, value=status.value, time=now)
    return alloc.changed(alloc_states=(*alloc.alloc_states, entry))


def wants_move(alloc: Allocation) -> bool:
    """Someone asked that it be migrated or replaced."""
    wish = alloc.desired_transition
    return bool(wish.migrate or wish.reschedule or wish.force_reschedule)


def is_wanted(alloc: Allocation) -> bool:
    """The server still wants it to run."""
    return alloc.desired_status is DesiredStatus.RUN
