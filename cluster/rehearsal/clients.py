"""The nodes of a rehearsal: only what changes is simulated, each allocation by its next moment.

In: the log of the branch, time. Out: reports, through the operation that agents call. Tasks start
at once and stay well; health takes what the job says, a stop what its delay says. Batch work that
has begun runs on: nobody can know when it ends.
"""

import heapq
from collections.abc import Iterable

from msgspec.structs import replace

from cluster.operations.allocations import NodeReport, report_from_client
from scheduler.access.caller import CLUSTER
from scheduler.ports import IDSource
from scheduler.state.branch_store import BranchStore
from scheduler.state.events import EventFrame
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    TaskState,
)
from scheduler.structs.job import JobType
from scheduler.structs.node import NodeStatus
from scheduler.structs.policies import MigrateStrategy
from scheduler.structs.task_group import TaskGroup

_JUDGED = frozenset({JobType.SERVICE, JobType.SYSTEM})


class Clients:
    """Everything that is on its way somewhere; whatever rests is not here."""

    def __init__(self, store: BranchStore, ids: IDSource) -> None:
        self._store = store
        self._ids = ids
        #: When something is next to happen to an allocation, wall clock, ns.
        self._due: list[tuple[int, str]] = []
        self._at: dict[str, int] = {}
        #: Since when the health of an allocation is watched, and for which deployment.
        self._watched: dict[str, tuple[str, int]] = {}
        #: When what was told to stop has stopped.
        self._stops: dict[str, int] = {}

    @property
    def next_at(self) -> int | None:
        """When the next one does something; None while all rest."""
        while self._due and self._at.get(self._due[0][1]) != self._due[0][0]:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def observe(self, frames: Iterable[EventFrame], now: int) -> None:
        """See what was changed of allocations, and when they will do something about it."""
        for frame in frames:
            for event in frame.events:
                if isinstance(event.value, Allocation) and not event.deleted:
                    self.look_at(event.value, now)

    def look_at(self, alloc: Allocation, now: int) -> None:
        """Find out when an allocation does something next."""
        due = self._next_of(alloc, now)
        if due is None:
            self._at.pop(alloc.id, None)
        elif self._at.get(alloc.id) != due:
            self._at[alloc.id] = due
            heapq.heappush(self._due, (due, alloc.id))

    def act(self, now: int) -> bool:
        """Report everything that is due, in one write; whether there was anything."""
        by_node: dict[str, list[Allocation]] = {}
        while (due := self.next_at) is not None and due <= now:
            _, alloc_id = heapq.heappop(self._due)
            del self._at[alloc_id]
            alloc = self._store.allocation(alloc_id)
            if alloc is not None:
                by_node.setdefault(alloc.node_id, []).append(self._reported(alloc, now))
        reports = tuple(
            NodeReport(node_id=node_id, allocations=tuple(allocs))
            for node_id, allocs in by_node.items()
        )
        if reports:
            report_from_client(self._store, reports, by=CLUSTER, now=now, ids=self._ids)
        return bool(reports)

    def _next_of(self, alloc: Allocation, now: int) -> int | None:
        if alloc.is_client_terminal:
            return None
        node = self._store.node(alloc.node_id)
        if node is None or node.status is not NodeStatus.READY:
            # Nobody hears of it.
            return None
        if alloc.is_server_terminal:
            return self._stops.setdefault(alloc.id, now + self._takes_to_stop(alloc))
        if alloc.client_status is ClientStatus.PENDING:
            return now
        return self._judged_at(alloc, now)

    def _takes_to_stop(self, alloc: Allocation) -> int:
        group = self._group_of(alloc)
        if group is None or alloc.client_status is ClientStatus.PENDING:
            return 0
        if alloc.desired_transition.no_shutdown_delay:
            return 0
        longest = max((task.shutdown_delay for task in group.tasks), default=0)
        return (group.shutdown_delay or 0) + longest

    def _judged_at(self, alloc: Allocation, now: int) -> int | None:
        """When its health will be known; None when it is, or nobody asks."""
        health = alloc.deployment_status
        if not is_judged(alloc) or (health is not None and health.healthy is not None):
            return None
        deployment_id, since = self._watched.get(alloc.id, ("", 0))
        if not since or deployment_id != alloc.deployment_id:
            # One that ran when the rehearsal began has been watched since it started.
            began = 0 if since else last_start(alloc)
            since = began if 0 < began < now else now
            self._watched[alloc.id] = alloc.deployment_id, since
        group = self._group_of(alloc)
        takes = None if group is None else time_to_health(group, alloc)
        return None if takes is None else max(now, since + takes)

    def _group_of(self, alloc: Allocation) -> TaskGroup | None:
        job = self._store.job_of(alloc)
        return job.task_group(alloc.task_group) if job is not None else None

    def _reported(self, alloc: Allocation, now: int) -> Allocation:
        if alloc.is_server_terminal:
            ended = TaskState(state="dead", finished_at=now)
            return _with_tasks(alloc.changed(client_status=ClientStatus.COMPLETE), ended)
        if alloc.client_status is ClientStatus.PENDING:
            begun = TaskState(state="running", started_at=now)
            return _with_tasks(alloc.changed(client_status=ClientStatus.RUNNING), begun)
        health = replace(
            alloc.deployment_status or DeploymentHealth(), healthy=True, timestamp=now
        )
        return alloc.changed(deployment_status=health)


def last_start(alloc: Allocation) -> int:
    """When the last of its tasks began; 0 while one has not."""
    starts = [state.started_at for state in alloc.task_states.values()]
    return max(starts) if starts and all(starts) else 0


def is_judged(alloc: Allocation) -> bool:
    """Whether anybody asks how an allocation is."""
    return alloc.job_type in _JUDGED


def time_to_health(group: TaskGroup, alloc: Allocation) -> int | None:
    """How long one must run to count as healthy, ns; None where nobody asks."""
    if alloc.deployment_id:
        return group.update.min_healthy_time if group.update is not None else None
    return (group.migrate or MigrateStrategy()).min_healthy_time


def _with_tasks(alloc: Allocation, state: TaskState) -> Allocation:
    names = alloc.task_states or alloc.allocated_resources.tasks
    return alloc.changed(task_states=dict.fromkeys(names, state))
