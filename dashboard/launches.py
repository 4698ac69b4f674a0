"""What is told of the jobs that another one launches: each in a line, all in a sentence.

In: what the record keeps of launches, how far the jobs they made are. Out: lines, counts, words.
Knows no reader.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.operations.launch_view import LaunchView
from cluster.store.ports import Span
from dashboard.wording import clock_time, count_of, due_time, number, one_of
from scheduler.structs.job import Job, JobChildrenSummary, JobStatus, JobSummary
from scheduler.structs.periodic_launch import LaunchOutcome, PastLaunch

#: Words of the counts, in the order in which a sentence says them: one, several.
_COUNTED = (
    ("ran", "ran", "ran"),
    ("running", gettext_noop("still runs"), gettext_noop("still run")),
    ("failed", "failed", "failed"),
    ("stopped", gettext_noop("was stopped"), gettext_noop("were stopped")),
    (
        "skipped",
        gettext_noop("was skipped because one before still ran"),
        gettext_noop("were skipped because one before still ran"),
    ),
    ("missed", gettext_noop("was missed"), gettext_noop("were missed")),
)
#: Lines that count as another one in the sentence.
_SAME = {"late": "ran", "forced": "ran", "pending": "running"}
_COLLECTED = gettext_noop("the job it made is not kept any more")


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
    told = gettext("{complete} of {wanted} finished").format(
        complete=number(complete), wanted=number(wanted)
    )
    if child.stop:
        return LaunchFate(state="stopped", told=told, began=began, ended=ended)
    if child.status != JobStatus.DEAD:
        if running or complete:
            return LaunchFate(state="running", told=told, began=began)
        return LaunchFate(
            state="pending",
            told=gettext("waits for room") if queued else gettext("not placed yet"),
            began=began,
        )
    if failed and complete < wanted:
        told = gettext("{told}, {failed} failed").format(told=told, failed=number(failed))
        return LaunchFate(state="failed", told=told, began=began, ended=ended)
    return LaunchFate(state="ran", told=told, began=began, ended=ended)


def launch_lines(view: LaunchView, fates: Mapping[str, LaunchFate]) -> tuple[LaunchLine, ...]:
    """The past launches, newest first; `fates` by the ids of the jobs that are kept."""
    return tuple(_line(each, fates.get(each.child_id)) for each in view.past)


def _line(launch: PastLaunch, fate: LaunchFate | None) -> LaunchLine:
    if launch.outcome is LaunchOutcome.SKIPPED:
        return LaunchLine(
            due=launch.due, state="skipped", child=launch.child_id, is_own=False,
            told=gettext("the one before still ran; overlap is not allowed"),
        )  # fmt: skip
    if launch.outcome is LaunchOutcome.MISSED:
        told = gettext(
            "nobody led when it was due; one later launch stands for all that were missed"
        )
        return LaunchLine(due=launch.due, state="missed", told=told)
    state = "forced" if launch.outcome is LaunchOutcome.FORCED else "ran"
    if launch.is_late:
        state = "late"
    told = fate.told if fate is not None else gettext(_COLLECTED)
    if launch.is_late:
        told = gettext("at {at}: {told}").format(at=clock_time(launch.at), told=told)
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
        return gettext("None was due yet.")
    counts = launches_counted(lines)
    words = {kind: (gettext(one), gettext(many)) for kind, one, many in _COUNTED}
    parts = [f"{number(count)} {words[kind][count > 1]}" for kind, count in counts.items()]
    if len(lines) == 1:
        return gettext("The last launch {partition}.").format(partition=parts[0].partition(" ")[2])
    return gettext("Of the last {launches} {parts}.").format(
        launches=count_of(len(lines), "{count} launch", "{count} launches"),
        parts=one_of(parts, "and"),
    )


def next_told(job: Job, view: LaunchView, decided_to: int) -> str:
    """What a periodic job does next, without the time until then; ends where that may follow."""
    if job.stop:
        return gettext("Stopped: nothing is launched.")
    if job.periodic is not None and not job.periodic.enabled:
        return gettext("Switched off in its job file: nothing is launched.")
    if job.is_parameterized:
        return gettext("It launches nothing by itself.")
    if view.next_due is None:
        return gettext("Its schedule names no further time.")
    return gettext("Next launch {next_due}").format(next_due=due_time(view.next_due, decided_to))


def kind_told(job: Job, next_at: int | None, decided_to: int, children: JobChildrenSummary) -> str:
    """What a list says of a job that launches others; "" for one that runs itself."""
    if job.is_parameterized:
        kept = children.pending + children.running + children.dead
        return (
            gettext("parameterized, {kept} dispatched").format(kept=number(kept))
            if kept
            else "parameterized"
        )
    if not job.is_periodic:
        return ""
    if next_at is None or not job.launches_by_time:
        return "periodic"
    return gettext("periodic, next {next_at}").format(next_at=due_time(next_at, decided_to))


def dispatched_told(children: JobChildrenSummary) -> tuple[str, str]:
    """The sentence of a parameterized job: what it is, and how its children are."""
    strong = gettext("It waits to be dispatched: by itself it runs nothing.")
    kept = children.pending + children.running + children.dead
    if not kept:
        return strong, gettext("Nothing dispatched is kept.")
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
        gettext("{job} dispatched from it {are} kept: {parts}.").format(
            job=count_of(kept, "{count} job", "{count} jobs"),
            are=_are(kept),
            parts=one_of(parts, "and"),
        ),
    )


def usual_span(lines: Iterable[LaunchLine]) -> int:
    """The middle one of how long launches took, ns; 0 when none has ended."""
    spans = sorted(line.took for line in lines if line.took and line.counted_as == "ran")
    return spans[len(spans) // 2] if spans else 0


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
