"""What is written down while a rehearsal runs: moments of allocations, how many of a group run.

In: the branch's log. Out: counts and moments, wall clock of the rehearsal. What they mean together
is `report`'s to say.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cluster.rehearsal.clients import is_judged, time_to_health
from scheduler.state.branch_store import BranchStore
from scheduler.state.events import EventFrame, Topic, WriteKind
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType

#: A job and one of its groups.
GroupKey = tuple[JobKey, str]
#: Jobs whose groups have a count.
COUNTED = frozenset({JobType.SERVICE, JobType.BATCH})


@dataclass
class AllocMoments:
    """When something happened to an allocation; 0: never."""

    asked: int = 0
    started: int = 0
    healthy: int = 0
    stopped: int = 0


@dataclass
class GroupCounts:
    """How many of a group run and are healthy, over time."""

    up: set[str]
    before: int
    lowest: int
    lowest_at: int
    since: int
    below_for: int = 0
    #: When something of it changed last.
    moved_at: int = 0


@dataclass
class Ledger:
    """One rehearsal as its log tells it."""

    store: BranchStore
    begin: int
    moved_at: int = 0
    eval_ids: dict[str, None] = field(default_factory=dict)
    moments: dict[str, AllocMoments] = field(default_factory=dict)
    lines: dict[GroupKey, GroupCounts] = field(default_factory=dict)
    _new: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.moved_at = self.begin

    @property
    def evaluations(self) -> int:
        """How many were made."""
        return len(self.eval_ids)

    @property
    def placed(self) -> int:
        """How many allocations were made."""
        return len(self._new)

    def observe(self, frames: Iterable[EventFrame]) -> None:
        """Take in what was written."""
        for frame in frames:
            if frame.kind != WriteKind.LIFECYCLE_RECORDED:
                self._take(frame)

    def _take(self, frame: EventFrame) -> None:
        self.moved_at = max(self.moved_at, frame.at)
        touched = _touched(frame)
        # Groups are looked at before what this write does to them counts.
        for key in touched:
            self._line(*key, frame.at)
        for event in frame.events:
            if isinstance(event.value, Allocation):
                self._note(event.value, frame.at)
            elif isinstance(event.value, Evaluation):
                self.eval_ids[event.value.id] = None
        for key in touched:
            self._measure(key, frame.at)

    def close(self) -> None:
        """Count the time until the last thing that moved."""
        for key, line in self.lines.items():
            self._pass(key, line, self.moved_at)

    def _line(self, key: JobKey, group: str, at: int) -> None:
        line = self.lines.get((key, group))
        if line is not None:
            self._pass((key, group), line, at)
            return
        up = {
            alloc.id
            for alloc in self.store.base.allocations_by_job(key)
            if alloc.task_group == group and _runs(alloc)
        }
        self.lines[key, group] = GroupCounts(up, len(up), len(up), self.begin, since=at)

    def _pass(self, key: GroupKey, line: GroupCounts, at: int) -> None:
        if len(line.up) < self.wanted(key):
            line.below_for += at - line.since
        line.since = at

    def _measure(self, key: GroupKey, at: int) -> None:
        line = self.lines[key]
        line.moved_at = at
        if len(line.up) < line.lowest:
            line.lowest, line.lowest_at = len(line.up), at

    def wanted(self, key: GroupKey) -> int:
        """How many of the group there should be; 0 where nobody counts."""
        job = self.store.job(key[0])
        if job is None or job.stop or job.type not in COUNTED:
            return 0
        group = job.task_group(key[1])
        return group.count if group is not None else 0

    def _note(self, alloc: Allocation, at: int) -> None:
        moments = self.moments.setdefault(alloc.id, AllocMoments())
        if self.store.base.allocation(alloc.id) is None:
            self._new.add(alloc.id)
        leaves = alloc.is_server_terminal or alloc.desired_transition.migrate
        if (leaves or alloc.client_status is ClientStatus.LOST) and not moments.asked:
            moments.asked = at
        if alloc.client_status is ClientStatus.RUNNING and not moments.started:
            moments.started = at
        if alloc.is_client_terminal and not moments.stopped:
            moments.stopped = at
        line = self.lines[alloc.job_key, alloc.task_group]
        if self._is_up(alloc):
            line.up.add(alloc.id)
            if not moments.healthy:
                moments.healthy = at
        else:
            line.up.discard(alloc.id)

    def _is_up(self, alloc: Allocation) -> bool:
        if not _runs(alloc):
            return False
        before = self.store.base.allocation(alloc.id)
        if (before is not None and _runs(before)) or not is_judged(alloc):
            return True
        if alloc.deployment_status is not None and alloc.deployment_status.healthy:
            return True
        job = self.store.job_of(alloc)
        group = job.task_group(alloc.task_group) if job is not None else None
        return group is None or time_to_health(group, alloc) is None


def _touched(frame: EventFrame) -> dict[GroupKey, None]:
    keys: dict[GroupKey, None] = {}
    for event in frame.events:
        if isinstance(event.value, Allocation):
            keys[event.value.job_key, event.value.task_group] = None
        elif isinstance(event.value, Job) and event.topic == Topic.JOB:
            keys |= {(event.value.key, group.name): None for group in event.value.task_groups}
    return keys


def _runs(alloc: Allocation) -> bool:
    return (
        alloc.client_status is ClientStatus.RUNNING and alloc.desired_status is DesiredStatus.RUN
    )
