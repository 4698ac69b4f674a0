"""A story beside the rehearsal of what it does: which allocations went where that named them.

In: a reader, a story and what is kept of rehearsals. Out: a line for each allocation that was to
find a place, those that differ first, and counts. Compared are the nodes of a group, not which of
its names is where: equal allocations of one job stand for each other.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import msgspec
from django.utils.translation import gettext

from cluster.operations.job_versions import with_counts_of
from cluster.rehearsal.result import Rehearsed, RehearsedAllocation, RehearsedOutcome
from cluster.rehearsal.scenario import (
    DrainNodes,
    LoseNodes,
    PurgeNodes,
    RevertJob,
    RunJob,
    ScaleJob,
    Scenario,
    StopJob,
)
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.wire import unpack
from cluster.store.ports import Namespaces, RecordReader
from dashboard.wording import count_of, number
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.story_nouns import STORY_NODES
from scheduler.state.writes.jobs import has_same_spec
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
from scheduler.structs.story import Story, StoryKind

#: Allocations that are compared; lines that a page shows.
MOST_COMPARED, MOST_LINES = 1000, 60
#: Replacements of replacements that are followed.
_ROUNDS = 6
_WAITS = (RehearsedOutcome.WAITS, RehearsedOutcome.HELD)
_AS = "as-rehearsed"
_ORDER = ("differs", "to-come", _AS)

_Group = tuple[str, str, str]


class ComparedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation: where it was rehearsed to go, where it went."""

    name: str
    namespace: str
    job_id: str
    #: The one that runs now, else the one that was to go.
    alloc_id: str
    rehearsed_on: str
    is_on: str
    #: It went where an equal one of its group was named.
    is_swapped: bool
    #: It was rehearsed to find no place.
    was_to_wait: bool
    #: A key of the labels: `as-rehearsed`, `differs`, `to-come`.
    verdict: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A story beside its rehearsal."""

    rehearsal_id: str
    index: int
    #: How long before the story the record was read, ns.
    before: int
    #: Changes of the record between the rehearsal and the beginning of the story.
    between: int
    lines: tuple[ComparedLine, ...]
    counts: dict[str, int]
    left_out: int = 0

    @property
    def apart(self) -> tuple[ComparedLine, ...]:
        """Those that differ or are to come, as many as a page tells."""
        return tuple(line for line in self.lines if line.verdict != _AS)[:MOST_LINES]

    @property
    def same(self) -> tuple[ComparedLine, ...]:
        """Those that went as rehearsed, as many as a page tells."""
        return tuple(line for line in self.lines if line.verdict == _AS)[:MOST_LINES]

    @property
    def hidden(self) -> int:
        """How many are not told."""
        return len(self.lines) - len(self.apart) - len(self.same) + self.left_out

    @property
    def told(self) -> str:
        """Such as `12 of 15 allocations went as rehearsed. 1 differs. 2 are to come.`."""
        differ, come = self.counts.get("differs", 0), self.counts.get("to-come", 0)
        same = self.counts.get(_AS, 0)
        told = [
            gettext("{same} of {allocations} went as rehearsed.").format(
                same=number(same),
                allocations=count_of(len(self.lines), "{count} allocation", "{count} allocations"),
            )
        ]
        if differ:
            told.append(count_of(differ, "{count} differs.", "{count} differ."))
        if come:
            told.append(count_of(come, "{count} is to come.", "{count} are to come."))
        return " ".join(told)


def compared(
    reader: RecordReader, story: Story, namespaces: Namespaces, *, is_over: bool
) -> Compared | None:
    """The story beside the newest rehearsal of it; None where there is none."""
    found = rehearsal_of(reader, story)
    if found is None:
        return None
    row, result = found
    told = [
        each
        for each in result.allocations
        if (each.to_node_id or each.outcome in _WAITS)
        and (namespaces is None or each.namespace in namespaces)
    ]
    rows = told[:MOST_COMPARED]
    lines = _lines(rows, _now_of(reader, rows, result.index), is_over=is_over)
    lines.sort(key=lambda line: _ORDER.index(line.verdict))
    return Compared(
        rehearsal_id=row.id,
        index=result.index,
        before=max(story.create_time - result.read_at, 0),
        between=max(story.create_index - result.index - 1, 0),
        lines=tuple(lines),
        counts=Counter(line.verdict for line in lines),
        left_out=len(told) - len(rows) + result.allocations_left_out,
    )


def rehearsal_of(reader: RecordReader, story: Story) -> tuple[StoredRehearsal, Rehearsed] | None:
    """The newest rehearsal from before the story of just what it does."""
    if story.kind not in _REHEARSABLE:
        return None
    rows = [
        row
        for row in reader.list_all(REHEARSALS)
        if row.status is RehearsalStatus.COMPLETE and row.snapshot_index < story.create_index
    ]
    nodes = _nodes_of(reader, story) if story.kind in _OF_NODES else set()
    for row in sorted(rows, key=lambda row: (row.snapshot_index, row.create_index), reverse=True):
        scenario = read_scenario(msgspec.json.decode(row.scenario))
        if _is_of(reader, story, nodes, scenario, row.packed):
            return row, _unpacked(row.packed)
    return None


_REHEARSABLE = frozenset(
    {StoryKind.DRAIN, StoryKind.LOSS, StoryKind.ROLLOUT, StoryKind.SCALING, StoryKind.STOP}
)


_OF_NODES = frozenset({StoryKind.DRAIN, StoryKind.LOSS})


@lru_cache(8)
def _unpacked(packed: bytes) -> Rehearsed:
    return unpack(packed)


def _is_of(
    reader: RecordReader, story: Story, nodes: set[str], scenario: Scenario, packed: bytes
) -> bool:
    if len(scenario.changes) != 1:
        return False
    match scenario.changes[0]:
        case DrainNodes() if story.kind is StoryKind.DRAIN:
            drained = _with_fates(packed, "drained")
            # Of nodes that drain a few at a time only the first may have begun.
            return bool(nodes) and nodes <= drained
        case LoseNodes() | PurgeNodes() if story.kind is StoryKind.LOSS:
            # What other nodes would have taken along tells nothing of these.
            gone = _with_fates(packed, "lost", "purged")
            return bool(gone) and nodes == gone
        case RunJob(job=job) if story.kind is StoryKind.ROLLOUT:
            made = reader.job_version(story.job_key, story.job_version, story.job_create_index)
            return job.key == story.job_key and made is not None and has_same_spec(job, made)
        case RevertJob(key=key, version=version) if story.kind is StoryKind.ROLLOUT:
            made = reader.job_version(story.job_key, story.job_version, story.job_create_index)
            old = reader.job_version(key, version, story.job_create_index)
            if key != story.job_key or made is None or old is None:
                return False
            wanted = with_counts_of(old, made) if scenario.changes[0].keeps_counts else old
            return has_same_spec(wanted, made)
        case ScaleJob(key=key, group=group, count=count) if story.kind is StoryKind.SCALING:
            made = reader.job_version(story.job_key, story.job_version, story.job_create_index)
            groups = made.task_groups if made is not None and key == story.job_key else ()
            return any(each.count == count for each in groups if not group or each.name == group)
        case StopJob(key=key) if story.kind is StoryKind.STOP:
            return key == story.job_key and not story.alloc_name
    return False


def _with_fates(packed: bytes, *fates: str) -> set[str]:
    return {node.id for node in _unpacked(packed).nodes if node.fate in fates}


def _nodes_of(reader: RecordReader, story: Story) -> set[str]:
    return {link.node_id for link in reader.list_by(STORY_NODES, "story", story.id)}


def _now_of(
    reader: RecordReader, rows: Sequence[RehearsedAllocation], index: int
) -> list[Allocation | None]:
    """What came of each: the last of those that took its place, or a new one of its group."""
    last: dict[str, Allocation] = {}
    wanted = {each.id: each.id for each in rows if each.id}
    for _ in range(_ROUNDS):
        reader.preload(allocs=wanted)
        following: dict[str, str] = {}
        for alloc_id, root in wanted.items():
            alloc = reader.allocation(alloc_id)
            if alloc is None:
                continue
            if alloc.create_index > index:
                last[root] = alloc
            if alloc.next_allocation:
                following[alloc.next_allocation] = root
        if not following:
            break
        wanted = following
    news = _new_ones(reader, [each for each in rows if each.id not in last], index)
    return [last.get(each.id) or _taken(news.get(_group(each), []), each) for each in rows]


def _taken(news: list[Allocation], each: RehearsedAllocation) -> Allocation | None:
    """One of the new ones, taken out: any for one more, for what was there one of its name.

    That has no link to the one before where its place was refused once: the next plan finds a name
    that nobody has.
    """
    found = next((alloc for alloc in news if not each.id or alloc.name == each.name), None)
    if found is not None:
        news.remove(found)
    return found


def _new_ones(
    reader: RecordReader, rows: Sequence[RehearsedAllocation], index: int
) -> dict[_Group, list[Allocation]]:
    """What was made for the groups of these since, in nobody's place."""
    keys = {JobKey(each.namespace, each.job_id) for each in rows}
    found: dict[_Group, list[Allocation]] = {}
    for key in keys:
        for alloc in reader.allocations_by_job(key):
            is_new = alloc.create_index > index and not alloc.previous_allocation
            if is_new and not alloc.is_terminal:
                group = (*key, alloc.task_group)
                found.setdefault(group, []).append(alloc)
    return found


def _group(each: RehearsedAllocation) -> _Group:
    return each.namespace, each.job_id, each.task_group


def _lines(
    rows: Sequence[RehearsedAllocation], now: Sequence[Allocation | None], *, is_over: bool
) -> list[ComparedLine]:
    """Each row with its verdict: what stands where it was named first, then whoever is equal."""
    left: dict[_Group, Counter[str]] = {}
    for each in rows:
        left.setdefault(_group(each), Counter()).update(
            [each.to_node_id] if each.to_node_id else []
        )
    verdicts: dict[int, str] = {}
    pairs = list(enumerate(zip(rows, now, strict=True)))
    for place, (each, alloc) in pairs:
        if alloc is not None and alloc.node_id == each.to_node_id:
            left[_group(each)][alloc.node_id] -= 1
            verdicts[place] = _AS
    for place, (each, alloc) in pairs:
        if place in verdicts:
            continue
        if alloc is None:
            waits = each.outcome in _WAITS
            verdicts[place] = _AS if waits else "differs" if is_over else "to-come"
        elif left[_group(each)][alloc.node_id] > 0:
            left[_group(each)][alloc.node_id] -= 1
            verdicts[place] = _AS
        else:
            verdicts[place] = "differs"
    return [_line(each, alloc, verdicts[place]) for place, (each, alloc) in pairs]


def _line(each: RehearsedAllocation, alloc: Allocation | None, verdict: str) -> ComparedLine:
    waits = gettext("held up") if each.outcome is RehearsedOutcome.HELD else "waits"
    is_swapped = alloc is not None and verdict == _AS and alloc.node_id != each.to_node_id
    return ComparedLine(
        name=each.name,
        namespace=each.namespace,
        job_id=each.job_id,
        alloc_id=alloc.id if alloc is not None else each.id,
        rehearsed_on=alloc.node_name if alloc and is_swapped else each.to_node_name or waits,
        is_swapped=is_swapped,
        is_on=alloc.node_name if alloc is not None else "",
        was_to_wait=each.outcome in _WAITS,
        verdict=verdict,
    )
