"""Operator settings of the scheduling mind. The wire calls them SchedulerConfiguration."""

from enum import StrEnum

from scheduler.structs.wire import Duration, Wire

_SECOND = 1_000_000_000
#: Both ends allowed.
REFUSALS_BOUNDS = (2, 1_000)
WINDOW_BOUNDS = (_SECOND, 24 * 3_600 * _SECOND)


class SchedulerAlgorithm(StrEnum):
    """Fill nodes up, or level them."""

    BINPACK = "binpack"
    SPREAD = "spread"


class PreemptionConfig(Wire, frozen=True):
    """For which job types lower-priority allocations may be evicted."""

    system_scheduler_enabled: bool = True
    sys_batch_scheduler_enabled: bool = False
    batch_scheduler_enabled: bool = False
    service_scheduler_enabled: bool = False


class NodeRejection(Wire, frozen=True):
    """When a node that plans are refused for is closed for new work."""

    enabled: bool = True
    #: So many refusals within the window.
    refusals: int = 100
    window: Duration = 300 * _SECOND

    @property
    def out_of_bounds(self) -> list[str]:
        """The fields whose values may not be."""
        bounds = {"refusals": REFUSALS_BOUNDS, "window": WINDOW_BOUNDS}
        return [
            field
            for field, (least, most) in bounds.items()
            if not least <= getattr(self, field) <= most
        ]


class SchedulerSettings(Wire, frozen=True):
    """Settings of all schedulers."""

    scheduler_algorithm: str = SchedulerAlgorithm.BINPACK.value
    preemption_config: PreemptionConfig = PreemptionConfig()
    memory_oversubscription_enabled: bool = False
    reject_job_registration: bool = False
    pause_eval_broker: bool = False
    node_limit_for_feasibility_checks: int = 0
    #: In place of what the servers were started with; None where that counts.
    node_rejection: NodeRejection | None = None
    create_index: int = 0
    modify_index: int = 0
