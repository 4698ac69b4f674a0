"""What reconciliation decides: the lists that a scheduler turns into a plan.

Plain values; the order inside each list is the order of work.
"""

from collections.abc import Mapping

import msgspec

from scheduler.engine.reconcile.names import AllocNameIndex
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment, DeploymentStatusUpdate
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.plan_annotations import DesiredUpdates
from scheduler.structs.task_group import TaskGroup


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation to be placed."""

    name: str
    task_group: TaskGroup
    #: The allocation it replaces.
    previous: Allocation | None = None
    is_canary: bool = False
    #: It replaces a failed allocation by its reschedule policy.
    is_reschedule: bool = False
    is_lost: bool = False
    #: While canaries are unpromoted: place it from the last promoted job version instead.
    downgrade_non_canary: bool = False
    min_job_version: int = 0


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation to be stopped."""

    alloc: Allocation
    reason: str
    #: Forced; None leaves the node's word.
    client_status: ClientStatus | None = None
    followup_eval_id: str = ""


class DestructiveUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation to be replaced: its stop happens only if the new one finds a node."""

    name: str
    task_group: TaskGroup
    alloc: Allocation
    reason: str


class ReconcileResults(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `reconcile_cluster` decided (reconciler.md 2.2)."""

    place: tuple[Placement, ...] = ()
    destructive: tuple[DestructiveUpdate, ...] = ()
    inplace: tuple[Allocation, ...] = ()
    stop: tuple[Stop, ...] = ()
    #: Copies of allocations whose only change is `followup_eval_id`.
    attribute_updates: tuple[Allocation, ...] = ()
    disconnect_updates: tuple[Allocation, ...] = ()
    reconnect_updates: tuple[Allocation, ...] = ()
    #: Delayed evaluations by group.
    followup_evals: Mapping[str, tuple[Evaluation, ...]] = {}
    #: To be created, or to be written back whole.
    deployment: Deployment | None = None
    deployment_updates: tuple[DeploymentStatusUpdate, ...] = ()
    #: One entry for every group of the job and of its allocations.
    desired_updates: Mapping[str, DesiredUpdates] = {}
    name_indexes: Mapping[str, AllocNameIndex] = {}
