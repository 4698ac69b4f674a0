"""Operator settings of the scheduling mind. The wire calls them SchedulerConfiguration."""

from enum import StrEnum

from scheduler.structs.wire import Wire


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


class SchedulerSettings(Wire, frozen=True):
    """Settings of all schedulers."""

    scheduler_algorithm: str = SchedulerAlgorithm.BINPACK.value
    preemption_config: PreemptionConfig = PreemptionConfig()
    memory_oversubscription_enabled: bool = False
    reject_job_registration: bool = False
    pause_eval_broker: bool = False
    node_limit_for_feasibility_checks: int = 0
    create_index: int = 0
    modify_index: int = 0
