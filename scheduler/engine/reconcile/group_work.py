"""The state of one task group while the steps of reconciliation work on it.

In: a situation and the group's allocations. Out: lists that become `ReconcileResults`. Each step
owns its rule; this file owns only what the steps hand to each other.
"""

from collections import Counter
from dataclasses import dataclass, field

from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.names import AllocNameIndex
from scheduler.engine.reconcile.reschedule import Delayed
from scheduler.engine.reconcile.results import DestructiveUpdate, Placement, Stop
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.task_group import TaskGroup

_PAUSED = frozenset(
    {DeploymentStatus.PAUSED, DeploymentStatus.PENDING, DeploymentStatus.INITIALIZING}
)


@dataclass(slots=True, kw_only=True)
class Rollout:
    """The job's deployment as the groups, one after another, find and extend it."""

    #: Of an earlier version, or done.
    old: Deployment | None = None
    current: Deployment | None = None
    #: Whether `current` is to be created or written back.
    is_returned: bool = False
    is_paused: bool = False
    has_failed: bool = False

    def __post_init__(self) -> None:
        self.is_paused = self.current is not None and self.current.status in _PAUSED
        self.has_failed = (
            self.current is not None and self.current.status is DeploymentStatus.FAILED
        )


@dataclass(slots=True, kw_only=True)
class GroupWork:
    """Working sets and results of one group (reconciler.md 4)."""

    situation: Situation
    rollout: Rollout
    name: str
    #: The group in the current job version; None: it was removed.
    group: TaskGroup | None
    all: AllocSet
    #: The group's part in the deployment, found there or fresh.
    state: GroupRollout = GroupRollout()
    has_state: bool = False
    canaries: AllocSet = field(default_factory=AllocSet)
    untainted: AllocSet = field(default_factory=AllocSet)
    migrate: AllocSet = field(default_factory=AllocSet)
    lost: AllocSet = field(default_factory=AllocSet)
    disconnecting: AllocSet = field(default_factory=AllocSet)
    reconnecting: AllocSet = field(default_factory=AllocSet)
    expiring: AllocSet = field(default_factory=AllocSet)
    reschedule_now: AllocSet = field(default_factory=AllocSet)
    reschedule_later: list[Delayed] = field(default_factory=list)
    #: Lost allocations whose node may still run them, with the evaluation that waits for it.
    lost_later: dict[str, str] = field(default_factory=dict)
    destructive: AllocSet = field(default_factory=AllocSet)
    names: AllocNameIndex = field(default_factory=lambda: AllocNameIndex("", "", 0))

    tally: Counter[str] = field(default_factory=Counter)
    place: list[Placement] = field(default_factory=list)
    replaced: list[DestructiveUpdate] = field(default_factory=list)
    inplace: list[Allocation] = field(default_factory=list)
    stop: list[Stop] = field(default_factory=list)
    attribute_updates: dict[str, Allocation] = field(default_factory=dict)
    disconnect_updates: dict[str, Allocation] = field(default_factory=dict)
    reconnect_updates: dict[str, Allocation] = field(default_factory=dict)
    followups: list[Evaluation] = field(default_factory=list)

    @property
    def wanted(self) -> TaskGroup:
        """The group, after the step that ends the work on removed ones."""
        assert self.group is not None, "a removed group is stopped whole before any other step"
        return self.group

    @property
    def has_update_block(self) -> bool:
        """The group is updated in steps."""
        update = self.wanted.update
        return update is not None and update.max_parallel > 0

    @property
    def is_canarying(self) -> bool:
        """Canaries are wanted and not promoted yet."""
        return self.state.desired_canaries > 0 and not self.state.promoted

    @property
    def may_place(self) -> bool:
        """Nothing holds the rollout back."""
        return not (self.rollout.is_paused or self.rollout.has_failed or self.is_canarying)

    def stop_all(
        self, allocs: AllocSet, reason: str, client_status: ClientStatus | None = None
    ) -> None:
        """Stop each of a set; counting them is the caller's business."""
        self.stop.extend(
            Stop(
                alloc=alloc,
                reason=reason,
                client_status=client_status,
                followup_eval_id=self.lost_later.get(alloc.id, ""),
            )
            for alloc in allocs.values()
        )
