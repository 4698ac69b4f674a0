"""What a plan means to do, group by group; kept with the evaluation and shown by dry runs."""

from scheduler.structs.wire import Wire, wire_names


class DesiredUpdates(Wire, frozen=True):
    """Intended changes of one group (reconciler.md 2.3)."""

    ignore: int = 0
    place: int = 0
    migrate: int = 0
    stop: int = 0
    in_place_update: int = 0
    destructive_update: int = 0
    canary: int = 0
    preemptions: int = 0
    disconnect: int = 0
    reconnect: int = 0
    reschedule_now: int = 0
    reschedule_later: int = 0


class PlanAnnotations(Wire, frozen=True, rename=wire_names(desired_updates="DesiredTGUpdates")):
    """Intended changes by group, and the allocations preempted for them (by id)."""

    desired_updates: dict[str, DesiredUpdates] = {}
    preempted_allocations: tuple[str, ...] = ()
