"""One allocation on its node, as its host holds it."""

import asyncio
from dataclasses import dataclass, field

from cluster.agent.alloc_runner import AllocRunner
from cluster.agent.drivers.driver import Handle
from cluster.agent.protocol import AllocationReport


@dataclass
class HostedAlloc:
    """One allocation here."""

    runner: AllocRunner
    handles: dict[str, Handle] = field(default_factory=dict)
    #: Keys of the artifacts in place, by task.
    fetched: dict[str, set[str]] = field(default_factory=dict)
    acknowledged: AllocationReport | None = None
    timer: asyncio.TimerHandle | None = None
    timer_at: int = 0
    #: Not begun: allocations it replaces still run, here or on the node they were on.
    waits_for: frozenset[str] = frozenset()
    finished_at: int = 0
    #: The server has collected it; it goes as soon as its tasks are dead.
    is_unwanted: bool = False
