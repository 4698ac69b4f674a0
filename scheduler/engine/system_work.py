"""What the steps of one attempt at a system or sysbatch job hand to each other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.engine.attempt import Attempt
from scheduler.engine.reconcile.node_results import NodeEntry
from scheduler.engine.run import Run
from scheduler.engine.stack import SystemStack
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.node import Node
from scheduler.structs.plan_annotations import DesiredUpdates


@dataclass(slots=True, kw_only=True)
class SystemWork:
    """One attempt at a system or sysbatch job."""

    attempt: Attempt
    run: Run
    stack: SystemStack
    is_sysbatch: bool
    deployment: Deployment | None
    ready: Mapping[str, Node] = field(default_factory=dict)
    #: Updates and returns that were made where the allocation is.
    inplace: list[NodeEntry] = field(default_factory=list)
    #: Those that need a new allocation, as far as the limits allow.
    destructive: list[NodeEntry] = field(default_factory=list)
    desired: dict[str, DesiredUpdates] = field(default_factory=dict)
    #: Per group, on how many nodes it runs or is to run.
    candidates: Counter[str] = field(default_factory=Counter)
    destructive_counts: Counter[str] = field(default_factory=Counter)
    existing_canaries: Counter[str] = field(default_factory=Counter)
    #: New allocations in the order they were placed.
    placed: list[Allocation] = field(default_factory=list)
