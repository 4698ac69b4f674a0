"""What is told of the jobs that another one launches: each in a line, all in a sentence.

In: what the record keeps of launches, how far the jobs they made are. Out: lines, counts, words.
Knows no reader.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from cluster.operations.launch_view import LaunchView
from cluster.store.ports import Span
from dashboard.wording import clock_time, count_of, due_time, number
from scheduler.structs.job import Job, JobChildrenSummary, JobStatus, JobSummary
from scheduler.structs.periodic_launch import LaunchOutcome, PastLaunch

#: Words of the counts, in the order in which a sentence says them: one, several.
_COUNTED = (
    ("ran", "ran", "ran"),
    ("running", "still runs", "still run"),
    ("failed", "failed", "failed"),
    ("stopped", "was stopped", "were stopped"),
    (
        "skipped",
        "was skipped because one before still ran",
        "were skipped because one before still ran",
    ),
    ("missed", "was missed", "were missed"),
)
#: Lines that count as another one in the sentence.
_SAME = {"late": "ran", "forced": "ran", "pending": "running"}
_COLLECTED = "the job it made is not kept any more"


class LaunchFate(msgspec.Struct, frozen=True, kw_only=True):
    """How far a launched job is."""

    #: A key of the labels of launches: pending, running, failed, stopped or ran.
    state: str
    told: str
    began: int = 0
    #: 0 while it goes on.
    ended: int = 0

    @property
    def took(self) -> int:
        """Nanoseconds; 0 while it goes on."""
        return max(self.ended - self.began, 0) if self.ended else 0


class LaunchLine(msgspec.Struct, frozen=True, kw_only=True):
    """One launch that is due, or was."""

    due: int
    #: A key of the labels of launches.
    state: str
    told: str
    #: The job it made, or the one that was in its way.
    child: str = ""
    #: Whether `child` is the job it made.
    is_own: bool = True
    took: int = 0

    @property
    def counted_as(self) -> str:
        """What it counts as in the sentence and in the key of the strip."""
        return _SAME.get(self.state, self.state)


def fate_of(child: Job, summary: JobSummary | None, span: Span | None) -> LaunchFate:
    """How far a launched job is, by its counts and by when its allocations changed."""
    groups = tuple(summary.summary.values()) if summary is not None else ()
    wanted = sum(group.count for group in child.task_groups)
    complete = sum(group.complete for group in groups)
    failed = sum(group.failed + group.lost for group in groups)
    queued = sum(group.queued for group in groups)
    running = sum(group.running + group.starting for group in groups)
    began = child.submit_time
    ended = span.last if span is not None else began
    told = f"{number(complete)} of {number(wanted)} finished"
    if child.stop:
        return LaunchFate(state="stopped", told=told, began=began, ended=ended)
    if child.status != JobStatus.DEAD:
        if running or complete:
            return LaunchFate(state="running", told=told, began=began)
        return LaunchFate(
            state="pending", told="waits for room" if queued else "not placed yet", began=began
        )
    if failed and complete < wanted:
        told = f"{told}, {number(failed)} failed"
        return LaunchFate(state="failed", told=told, began=began, ended=ended)
    return LaunchFate(state="ran", told=told, began=began, ended=ended)


def launch_lines(view: LaunchView, fates: Mapping[str, LaunchFate]) -> tuple[LaunchLine, ...]:
    """The past launches, newest first; `fates` by the ids of the jobs that are kept."""
    return tuple(_line(each, fates.get(each.child_id)) for each in view.past)


def _line(launch: PastLaunch, fate: LaunchFate | None) -> LaunchLine:
    if launch.outcome is LaunchOutcome.SKIPPED:
        return LaunchLine(
            due=launch.due, state="skipped", child=launch.child_id, is_own=False,
            told="the one before still ran; overlap is not allowed",
        )  # fmt: skip
    if launch.outcome is LaunchOutcome.MISSED:
        told = "nobody led when it was due; one later launch stands for all that were missed"
        return LaunchLine(due=launch.due, state="missed", told=told)
    state = "forced" if launch.outcome is LaunchOutcome.FORCED else "ran"
    if launch.is_late:
        state = "late"
    told = fate.told if fate is not None else _COLLECTED
    if launch.is_late:
        told = f"at {clock_time(launch.at)}: {told}"
    if fate is not None and fate.state != "ran":
        state = fate.state
    return LaunchLine(
        due=launch.due,
        state=state,
        told=told,
        child=launch.child_id,
        took=fate.took if fate is not None else 0,
    )


def launches_counted(lines: Iterable[LaunchLine]) -> dict[str, int]:
    """How many of each kind, in the order in which they are told; those that are none left out."""
    counts = Counter(line.counted_as for line in lines)
    return {kind: counts[kind] for kind, _, _ in _COUNTED if counts[kind]}


def launches_told(lines: Sequence[LaunchLine]) -> str:
    """As in `Of the last 24 launches 20 ran, 1 failed, 3 were missed`."""
    if not lines:
        return "None was due yet."
    counts = launches_counted(lines)
    words = {kind: (one, many) for kind, one, many in _COUNTED}
    parts = [f"{number(count)} {words[kind][count > 1]}" for kind, count in counts.items()]
    if len(lines) == 1:
        return f"The last launch {parts[0].partition(' ')[2]}."
    return f"Of the last {count_of(len(lines), 'launch', 'launches')} {', '.join(parts)}."


def next_told(job: Job, view: LaunchView, decided_to: int) -> str:
    """What a periodic job does next, without the time until then; ends where that may follow."""
    if job.stop:
        return "Stopped: nothing is launched."
    if job.periodic is not None and not job.periodic.enabled:
        return "Switched off in its job file: nothing is launched."
    if job.is_parameterized:
        return "It launches nothing by itself."
    if view.next_due is None:
        return "Its schedule names no further time."
    return f"Next launch {due_time(view.next_due, decided_to)}"


def kind_told(job: Job, next_at: int | None, decided_to: int, children: JobChildrenSummary) -> str:
    """What a list says of a job that launches others; "" for one that runs itself."""
    if job.is_parameterized:
        kept = children.pending + children.running + children.dead
        return f"parameterized, {number(kept)} dispatched" if kept else "parameterized"
    if not job.is_periodic:
        return ""
    if next_at is None or not job.launches_by_time:
        return "periodic"
    return f"periodic, next {due_time(next_at, decided_to)}"


def dispatched_told(children: JobChildrenSummary) -> tuple[str, str]:
    """The sentence of a parameterized job: what it is, and how its children are."""
    strong = "It waits to be dispatched: by itself it runs nothing."
    kept = children.pending + children.running + children.dead
    if not kept:
        return strong, "Nothing dispatched is kept."
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (children.running, "running"),
            (children.pending, "waiting"),
            (children.dead, "ended"),
        )
        if count
    ]
    return (
        strong,
        f"{count_of(kept, 'job')} dispatched from it {_are(kept)} kept: {', '.join(parts)}.",
    )


def usual_span(lines: Iterable[LaunchLine]) -> int:
    """The middle one of how long launches took, ns; 0 when none has ended."""
    spans = sorted(line.took for line in lines if line.took and line.counted_as == "ran")
    return spans[len(spans) // 2] if spans else 0


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
