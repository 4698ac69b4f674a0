"""Move allocations off draining nodes, a few at a time, and end the drains.

In: the log, the record, time. Out: `DrainAllocations` and `CompleteDrain`. What is to be done is
read from the record whenever an allocation on a draining node, or of a job there, has changed;
memory only says where to look (control-plane.md 7).
"""

from collections.abc import Iterable, Sequence

from scheduler.broker.delay_heap import DelayHeap
from scheduler.commands import Command, CompleteDrain, DrainAllocations
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame
from scheduler.structs.allocation import Allocation, DesiredTransition
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType
from scheduler.structs.moment import Moment
from scheduler.structs.node import DrainStrategy, Node
from scheduler.structs.policies import MigrateStrategy
from scheduler.structs.task_group import TaskGroup

SECOND = 1_000_000_000
#: Seconds that requests to move allocations are gathered for.
BATCH_WAIT = 1.0
#: Deadlines less than this many seconds apart are handled together.
DEADLINE_WINDOW = 5.0
#: Everything is looked at again this often, should a command have failed.
LOOK_AGAIN = 10.0
MAX_IDS = 7281


class Drains:
    """All drains under way."""

    def __init__(self, deadline_window: float = DEADLINE_WINDOW) -> None:
        self._window = round(deadline_window * SECOND)
        self._tracked: dict[str, DrainStrategy] = {}
        #: Jobs with allocations to move.
        self._jobs: set[JobKey] = set()
        self._dirty_nodes: set[str] = set()
        self._dirty_jobs: set[JobKey] = set()
        #: Wall clock, ns.
        self._deadlines = DelayHeap()
        #: What jobs let go and nobody was told yet, by id.
        self._asked: dict[str, Allocation] = {}
        self._asked_at = 0.0
        self._looked_at = 0.0

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Find the draining nodes and look at all of them."""
        self._tracked.clear()
        self._jobs.clear()
        self._dirty_jobs.clear()
        self._asked.clear()
        self._deadlines.clear()
        self._looked_at = moment.monotonic
        for node in reader.nodes():
            self._follow_node(node)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Note which drains and jobs are to be looked at."""
        for event in frame.events:
            if isinstance(event.value, Node):
                if event.deleted:
                    self._untrack(event.value.id)
                    self._take_back(event.value.id)
                else:
                    self._follow_node(event.value)
            elif isinstance(event.value, Allocation):
                if event.value.node_id in self._tracked:
                    self._dirty_nodes.add(event.value.node_id)
                if event.value.job_key in self._jobs:
                    self._dirty_jobs.add(event.value.job_key)

    def _follow_node(self, node: Node) -> None:
        strategy = node.drain_strategy
        if strategy is None:
            self._untrack(node.id)
            if node.last_drain is None or node.last_drain.status != "complete":
                self._take_back(node.id)
        elif self._tracked.get(node.id) != strategy:
            self._tracked[node.id] = strategy
            self._dirty_nodes.add(node.id)
            self._set_deadline(node.id, strategy)

    def _set_deadline(self, node_id: str, strategy: DrainStrategy) -> None:
        self._deadlines.remove(node_id)
        if strategy.deadline < 0:
            self._deadlines.push(node_id, 0)
        elif strategy.force_deadline:
            self._deadlines.push(node_id, strategy.force_deadline)

    def _untrack(self, node_id: str) -> None:
        self._tracked.pop(node_id, None)
        self._dirty_nodes.discard(node_id)
        self._deadlines.remove(node_id)

    def _take_back(self, node_id: str) -> None:
        """Nothing needs to leave this node any more."""
        staying = [alloc.id for alloc in self._asked.values() if alloc.node_id == node_id]
        for alloc_id in staying:
            del self._asked[alloc_id]

    def next_deadline(self, moment: Moment) -> float | None:
        """At once when something has changed; else the next batch, deadline or general look."""
        if not self._tracked:
            return self._asked_at + BATCH_WAIT if self._asked else None
        if self._dirty_nodes or self._dirty_jobs:
            return moment.monotonic
        deadlines = [self._looked_at + LOOK_AGAIN]
        if self._asked:
            deadlines.append(self._asked_at + BATCH_WAIT)
        firing = self._firing_time()
        if firing is not None:
            deadlines.append(moment.monotonic + max(0, firing - moment.now) / SECOND)
        return min(deadlines)

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """Look where something changed; hand out what is due."""
        if not self._tracked and not self._asked:
            return ()
        if moment.monotonic >= self._looked_at + LOOK_AGAIN:
            self._look_everywhere(moment.monotonic)
        commands = self._force(reader, moment.now)
        done = self._take_done_nodes(reader)
        self._ask_jobs(reader, moment.monotonic)
        commands += self._finish(reader, dict.fromkeys(done, False))
        if self._asked and moment.monotonic >= self._asked_at + BATCH_WAIT:
            commands += _drain_commands(self._take_asked(reader))
        return commands

    def _look_everywhere(self, monotonic: float) -> None:
        self._looked_at = monotonic
        self._dirty_nodes |= set(self._tracked)
        for node_id, strategy in self._tracked.items():
            if node_id not in self._deadlines:
                self._set_deadline(node_id, strategy)

    def _firing_time(self) -> float | None:
        """When the deadlines that lie close to the earliest one are handled together."""
        earliest = self._deadlines.next_due()
        if earliest is None or earliest == 0:
            return earliest
        due = [self._deadlines.due_at(node_id) for node_id in self._tracked]
        return max(at for at in due if at and at < earliest + self._window)

    def _force(self, reader: StateReader, now: int) -> list[Command]:
        firing = self._firing_time()
        if firing is None or firing > now:
            return []
        late = [n for n in self._deadlines.pop_due(firing) if n in self._tracked]
        # A drain by force asks its jobs like any other; their answer rides in the next batch.
        for node_id in self._dirty_nodes.intersection(late):
            self._note_jobs(reader.allocations_by_node(node_id))
        self._dirty_nodes -= set(late)
        return self._finish(reader, dict.fromkeys(late, True))

    def _note_jobs(self, allocs: Iterable[Allocation]) -> None:
        keys = {a.job_key for a in allocs if not a.is_terminal and _moves(a)}
        self._jobs |= keys
        self._dirty_jobs |= keys

    def _take_done_nodes(self, reader: StateReader) -> list[str]:
        """Nodes nothing is left on, of those that changed; jobs on the others are looked at."""
        done = []
        for node_id in sorted(self._dirty_nodes):
            allocs = reader.allocations_by_node(node_id)
            if is_done(allocs):
                done.append(node_id)
                continue
            self._note_jobs(allocs)
        self._dirty_nodes.clear()
        return done

    def _finish(self, reader: StateReader, nodes: dict[str, bool]) -> list[Command]:
        """Move what is left on these nodes at once, then end their drains."""
        if not nodes:
            return []
        left = {
            alloc.id: transition_of(alloc)
            for node_id in nodes
            for alloc in remaining(reader.allocations_by_node(node_id), self._tracked[node_id])
        }
        return [*_drain_commands(left), CompleteDrain(nodes=nodes)]

    def _ask_jobs(self, reader: StateReader, monotonic: float) -> None:
        for key in sorted(self._dirty_jobs):
            job = reader.job(key)
            if job is None or job.type == JobType.SYSTEM:
                self._jobs.discard(key)
                continue
            allocs = _of_job(reader, job)
            if not any(a.node_id in self._tracked and not a.is_client_terminal for a in allocs):
                self._jobs.discard(key)
                continue
            # What was let go and is not told yet is as good as gone: a second drain that begins
            # meanwhile must not let another one go in its place.
            there = [alloc for alloc in allocs if alloc.id not in self._asked]
            for alloc in drainable(job, there, self._tracked):
                if not self._asked:
                    self._asked_at = monotonic
                self._asked[alloc.id] = alloc
        self._dirty_jobs.clear()

    def _take_asked(self, reader: StateReader) -> dict[str, DesiredTransition]:
        """What leaves now, chosen anew from all drains that have begun while it was gathered.

        So it is the same whether nodes were asked to drain at once or one after another. What was
        let go of a node whose drain has ended meanwhile still goes.
        """
        asked, self._asked = self._asked, {}
        leaving = {
            key: alloc for key, alloc in asked.items() if alloc.node_id not in self._tracked
        }
        keys = {alloc.job_key for key, alloc in asked.items() if key not in leaving}
        for job in (reader.job(key) for key in sorted(keys)):
            if job is not None:
                there = [alloc for alloc in _of_job(reader, job) if alloc.id not in leaving]
                chosen = drainable(job, there, self._tracked)
                leaving |= {alloc.id: alloc for alloc in chosen}
        return {alloc_id: transition_of(alloc) for alloc_id, alloc in leaving.items()}


def _of_job(reader: StateReader, job: Job) -> list[Allocation]:
    return [
        alloc
        for alloc in reader.allocations_by_job(job.key)
        if alloc.job_create_index == job.create_index
    ]


def is_done(allocs: Iterable[Allocation]) -> bool:
    """Everything a drain waits for has ended on its node; told to stop is not enough."""
    return all(alloc.is_client_terminal for alloc in allocs if _moves(alloc))


def remaining(allocs: Iterable[Allocation], strategy: DrainStrategy) -> list[Allocation]:
    """What is moved when a drain ends: also system allocations, unless they are to be ignored."""
    return [
        alloc
        for alloc in allocs
        if not alloc.is_terminal and (_moves(alloc) or not strategy.ignore_system_jobs)
    ]


def transition_of(alloc: Allocation) -> DesiredTransition:
    """Batch work is stopped without a replacement: it would begin anew elsewhere."""
    is_batch = alloc.job_type == JobType.BATCH
    return DesiredTransition(migrate=True, migrate_disable_placement=True if is_batch else None)


def drainable(job: Job, allocs: Sequence[Allocation], draining: Iterable[str]) -> list[Allocation]:
    """Which allocations of a job may leave now, group by group, within `migrate.max_parallel`.

    Batch work stays until it ends or the deadline comes.
    """
    if job.type != JobType.SERVICE:
        return []
    nodes = frozenset(draining)
    chosen: list[Allocation] = []
    for group in job.task_groups:
        chosen += _drainable_of(
            group, [alloc for alloc in allocs if alloc.task_group == group.name], nodes
        )
    return chosen


def _drainable_of(
    group: TaskGroup, allocs: Sequence[Allocation], draining: frozenset[str]
) -> list[Allocation]:
    staying = [alloc for alloc in allocs if not alloc.is_terminal and not _is_migrating(alloc)]
    healthy = sum(
        1
        for alloc in staying
        if alloc.deployment_status is not None and alloc.deployment_status.healthy is not None
    )
    migrate = group.migrate or MigrateStrategy()
    spare = healthy - (group.count - migrate.max_parallel)
    leaving = [alloc for alloc in staying if alloc.node_id in draining]
    return leaving[: max(0, spare)]


def _moves(alloc: Allocation) -> bool:
    return alloc.job_type != JobType.SYSTEM


def _is_migrating(alloc: Allocation) -> bool:
    return bool(alloc.desired_transition.migrate)


def _drain_commands(transitions: dict[str, DesiredTransition]) -> list[Command]:
    items = list(transitions.items())
    return [
        DrainAllocations(transitions=dict(items[start : start + MAX_IDS]))
        for start in range(0, len(items), MAX_IDS)
    ]
