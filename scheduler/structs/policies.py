"""How a group wants to be updated, restarted, rescheduled, migrated and treated when disconnected.

Durations are nanoseconds. Zero stands for "not given" until a job is registered, which fills in
the canonical defaults of `http-api.md` 8.1.
"""

from enum import StrEnum

from scheduler.structs.wire import Duration, Wire

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


class UpdateStrategy(Wire, frozen=True):
    """How a changed job replaces its allocations; `max_parallel` 0: all at once, undeployed."""

    stagger: Duration = 0
    max_parallel: int = 0
    #: checks, task_states or manual
    health_check: str = ""
    min_healthy_time: Duration = 0
    healthy_deadline: Duration = 0
    progress_deadline: Duration = 0
    auto_revert: bool = False
    auto_promote: bool = False
    canary: int = 0
    #: Ours: "deployment" (also when empty) or "stagger"; system jobs only.
    strategy: str = ""


class MigrateStrategy(Wire, frozen=True):
    """How many allocations may leave draining nodes at a time."""

    max_parallel: int = 1
    health_check: str = "checks"
    min_healthy_time: Duration = 10 * SECOND
    healthy_deadline: Duration = 5 * MINUTE


class RestartPolicy(Wire, frozen=True):
    """When a node runs a failed task again by itself."""

    attempts: int = 0
    interval: Duration = 0
    delay: Duration = 0
    #: fail or delay
    mode: str = ""
    render_templates: bool = False


class ReschedulePolicy(Wire, frozen=True):
    """When a failed allocation is replaced on another node."""

    attempts: int = 0
    interval: Duration = 0
    delay: Duration = 0
    #: constant, exponential or fibonacci
    delay_function: str = ""
    max_delay: Duration = 0
    unlimited: bool = False


class ReconcileChoice(StrEnum):
    """Which allocation survives when the node of a replaced one comes back."""

    BEST_SCORE = "best_score"
    KEEP_ORIGINAL = "keep_original"
    KEEP_REPLACEMENT = "keep_replacement"
    LONGEST_RUNNING = "longest_running"


class DisconnectStrategy(Wire, frozen=True):
    """What happens to allocations whose node stops answering."""

    lost_after: Duration = 0
    stop_on_client_after: Duration | None = None
    replace: bool | None = None
    reconcile: str = ""
