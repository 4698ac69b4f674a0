"""What reconciling node by node is given and decides: the values of `reconcile_node`.

One entry is one name on one node; the eight lists of a result share no live allocation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from scheduler.engine.reconcile.situation import JobSituation
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatusUpdate
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup


class NodeSituation(JobSituation, frozen=True, kw_only=True):
    """The inputs of one reconciliation of a system or sysbatch job (reconciler.md 20.1)."""

    #: Nodes that take new allocations of the job, by id; none for a stopped job.
    ready: Mapping[str, Node]
    #: Other nodes of the job's pool, whatever their datacenter.
    not_ready: frozenset[str]


class NodeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One name of the job on one node."""

    name: str
    node_id: str
    #: None for an allocation that the job does not name any more.
    task_group: TaskGroup | None = None
    #: The live allocation; for a placement, the ended one it follows, if any.
    alloc: Allocation | None = None
    is_canary: bool = False

    @property
    def held(self) -> Allocation:
        """The allocation, where there must be one."""
        assert self.alloc is not None, "only placements may lack one"
        return self.alloc

    @property
    def group_name(self) -> str:
        """The task group's name, also of a removed one."""
        if self.task_group is not None:
            return self.task_group.name
        return self.alloc.task_group if self.alloc else ""


@dataclass(slots=True, kw_only=True)
class NodeResults:
    """Everything `reconcile_node` decided, in visiting order."""

    place: list[NodeEntry] = field(default_factory=list)
    update: list[NodeEntry] = field(default_factory=list)
    migrate: list[NodeEntry] = field(default_factory=list)
    stop: list[NodeEntry] = field(default_factory=list)
    ignore: list[NodeEntry] = field(default_factory=list)
    lost: list[NodeEntry] = field(default_factory=list)
    #: Copies turned `unknown`.
    disconnecting: list[NodeEntry] = field(default_factory=list)
    #: Copies whose return is recorded.
    reconnecting: list[NodeEntry] = field(default_factory=list)
    #: The deployment the job works under after this; possibly a new one.
    deployment: Deployment | None = None
    deployment_updates: list[DeploymentStatusUpdate] = field(default_factory=list)
