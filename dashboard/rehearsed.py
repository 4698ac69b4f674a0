"""What a rehearsal found, as pages say it: the sentence, the sums, lines of tables.

In: a result as its reader may know it, or a scenario. Out: values for templates. Every sentence
and every number is the result's; nothing is guessed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cluster.rehearsal.result import (
    RehearsalEnd,
    Rehearsed,
    RehearsedAllocation,
    RehearsedGroup,
    RehearsedNode,
    RehearsedOutcome,
    WaitReason,
)
from cluster.rehearsal.scenario import (
    WHOLE,
    AddNodes,
    ChangeQuota,
    ChangeSettings,
    DrainNodes,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    PurgeNodes,
    RunJob,
    ScaleJob,
    ScenarioChange,
    StopJob,
)
from cluster.rehearsal.wire import HIDDEN
from cluster.rehearsal.words import ASSUMED, ENDED
from dashboard.wording import NONE, count_of, dimension_word, number, one_of, span
from scheduler.structs.wire import wire_name

#: Lines that a page shows; the whole is in the API.
MOST_GROUPS = 100
MOST_ALLOCATIONS = 300
MOST_NODES = 60
#: Groups whose names stand in the sentence, nodes whose names stand in a change.
_NAMED = 3
_MOST_BARS = 40


class RehearsedSentence(NamedTuple):
    """The sentence: its strong part, the rest, and the tone of both."""

    strong: str
    rest: str
    tone: str


class RehearsedSum(NamedTuple):
    """A number with its word and what stands below it."""

    word: str
    figure: str
    note: str = ""
    tone: str = ""


class TimeBar(NamedTuple):
    """A stretch of a time line, in percent of it."""

    left: str
    width: str
    waits: bool = False


class RehearsedGroupLine(NamedTuple):
    """One group of a job, for the table of groups."""

    value: RehearsedGroup
    is_hidden: bool
    is_hurt: bool
    lowest: str
    end: str
    why: str
    why_node: WaitReason | None
    done: str
    at_once: str
    bars: tuple[TimeBar, ...]


class RehearsedAllocationLine(NamedTuple):
    """One allocation, for the table of allocations."""

    value: RehearsedAllocation
    is_hidden: bool
    score: str
    next_best: str
    why: str
    why_node: WaitReason | None
    moved: str


def sentence(result: Rehearsed) -> RehearsedSentence:
    """How it ends, in words."""
    totals = result.totals
    without = totals.need_place - totals.placed
    hurt = [group for group in result.groups if group.after < group.count]
    if not totals.need_place:
        strong = "Nothing needs a new place"
        if totals.stopped:
            verb = "stops" if totals.stopped == 1 else "stop"
            strong += f"; {count_of(totals.stopped, 'allocation')} {verb}"
    elif not without:
        all_of = "The one that needs a place finds" if totals.need_place == 1 else "All "
        strong = (
            f"{all_of} one"
            if totals.need_place == 1
            else f"{all_of}{number(totals.need_place)} that need a place find one"
        )
    else:
        ends = [
            f"{number(count)} {word}"
            for count, word in (
                (totals.waits, "would wait" if totals.waits > 1 else "waits"),
                (totals.held, "would be held up" if totals.held > 1 else "is held up"),
            )
            if count
        ]
        of = f"{number(totals.placed)} of {number(totals.need_place)}"
        strong = f"{of} that need a place {'finds' if totals.placed == 1 else 'find'} one"
        strong += f"; {' and '.join(ends)}" if ends else ""
    rest = _ends_below(totals.end_below, hurt)
    is_cut = result.ending in (RehearsalEnd.TIME, RehearsalEnd.EVALUATIONS)
    tone = "blocked" if without or totals.end_below or is_cut else "complete"
    return RehearsedSentence(f"{strong}.", rest, tone)


def _ends_below(count: int, hurt: Sequence[RehearsedGroup]) -> str:
    if not count:
        return "No group of a job ends below its count."
    named = [
        f"{_group_name(group)} with {number(group.after)} of {number(group.count)}"
        for group in hurt[:_NAMED]
    ]
    more = count - len(named)
    if more and named:
        named.append(f"{number(more)} more")
    verb = "ends" if count == 1 else "end"
    told = f"{count_of(count, 'group')} {verb} below {'its' if count == 1 else 'their'} count"
    return f"{told}: {one_of(named, 'and')}." if named else f"{told}."


def _group_name(group: RehearsedGroup) -> str:
    return HIDDEN if group.job_id == HIDDEN else f"{group.job_id}.{group.task_group}"


def sums(result: Rehearsed) -> list[RehearsedSum]:
    """The rehearsal in numbers."""
    totals = result.totals
    others = [
        f"{number(count)} {word}"
        for count, word in (
            (totals.finishes, "left to finish"),
            (totals.stopped, "stop"),
            (totals.updated, "stay, changed"),
        )
        if count
    ]
    kept = number(totals.end_below) if totals.end_below else "none"
    below = f"{kept} of them in the end" if totals.fall_below else ""
    return [
        RehearsedSum("Need a place", number(totals.need_place), ", ".join(others)),
        RehearsedSum(
            "Find a place", number(totals.placed),
            f"on {count_of(totals.destinations, 'node')}" if totals.placed else "",
        ),
        RehearsedSum(
            "Wait", number(totals.waits + totals.held),
            f"{number(totals.held)} of them held up" if totals.held else "",
            "blocked" if totals.waits + totals.held else "",
        ),
        RehearsedSum(
            "Groups below their count", number(totals.fall_below), below,
            "blocked" if totals.fall_below else "",
        ),
        RehearsedSum(
            "Until all is calm", span(result.lasts),
            f"{count_of(totals.evaluations, 'evaluation')} of {count_of(totals.jobs, 'job')}",
        ),
    ]  # fmt: skip


def notes(result: Rehearsed) -> list[str]:
    """Why it ended early, where it did, and what it takes for granted."""
    ending = [ENDED[result.ending]] if ENDED[result.ending] else []
    return [*ending, *(_sentence(ASSUMED[each]) for each in result.assumptions)]


def group_lines(result: Rehearsed) -> list[RehearsedGroupLine]:
    """Groups, worst first."""
    shown = result.groups[:MOST_GROUPS]
    moves: dict[tuple[str, str, str], list[RehearsedAllocation]] = {}
    for each in result.allocations:
        moves.setdefault((each.namespace, each.job_id, each.task_group), []).append(each)
    return [
        _group_line(
            group, moves.get((group.namespace, group.job_id, group.task_group), ()), result
        )
        for group in shown
    ]


def _group_line(
    group: RehearsedGroup, moves: Sequence[RehearsedAllocation], result: Rehearsed
) -> RehearsedGroupLine:
    is_hidden = group.job_id == HIDDEN
    waits = group.waits + group.held
    at_once = (
        f"drained {number(group.max_parallel)} at once" if group.max_parallel and moves else ""
    )
    return RehearsedGroupLine(
        value=group,
        is_hidden=is_hidden,
        is_hurt=group.lowest < min(group.before, group.count) or group.after < group.count,
        lowest=_of(group.lowest, group.count),
        end=_of(group.after, group.count),
        why=_reason(group.waiting) if waits else "",
        why_node=group.waiting if waits and group.waiting and group.waiting.node_id else None,
        done=f"{number(waits)} wait" if waits else span(group.done_at),
        at_once=at_once,
        # Of groups that are not told apart no one has moves of its own.
        bars=() if is_hidden else _bars(moves, result.lasts, has_waits=bool(waits)),
    )


def _bars(
    moves: Sequence[RehearsedAllocation], lasts: int, *, has_waits: bool
) -> tuple[TimeBar, ...]:
    """When something of the group moves: stretches that touch are one."""
    if lasts <= 0:
        return ()
    joined: list[list[int]] = []
    for begin, end in sorted(_stretches(moves)):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    bars = [_bar(begin, end, lasts) for begin, end in joined[:_MOST_BARS]]
    if has_waits:
        bars.append(_bar(joined[-1][1] if joined else 0, lasts, lasts, waits=True))
    return tuple(bars)


def _stretches(moves: Sequence[RehearsedAllocation]) -> Iterator[tuple[int, int]]:
    for each in moves:
        known = [
            moment
            for moment in (each.asked_at, each.started_at, each.healthy_at, each.stopped_at)
            if moment >= 0
        ]
        if known:
            yield min(known), max(known)


def _bar(begin: int, end: int, lasts: int, *, waits: bool = False) -> TimeBar:
    left = min(100 * begin / lasts, 99.0)
    width = min(max(100 * (end - begin) / lasts, 1.0), 100 - left)
    return TimeBar(f"{left:.1f}%", f"{width:.1f}%", waits)


def allocation_lines(result: Rehearsed) -> list[RehearsedAllocationLine]:
    """Allocations, those that wait first."""
    return [_allocation_line(each) for each in result.allocations[:MOST_ALLOCATIONS]]


def _allocation_line(each: RehearsedAllocation) -> RehearsedAllocationLine:
    waiting = each.waiting
    next_best = ""
    if each.next_node_name and each.next_score is not None:
        next_best = f"{each.next_node_name} {each.next_score:.2f}"
    why = _reason(waiting) if waiting else ""
    if each.preempted_by:
        why = "pushed out by work of a higher priority"
    return RehearsedAllocationLine(
        value=each,
        is_hidden=each.job_id == HIDDEN,
        score=NONE if each.score is None else f"{each.score:.2f}",
        next_best=next_best,
        why=why,
        why_node=waiting if waiting and waiting.node_id else None,
        moved=_moved(each),
    )


def _moved(each: RehearsedAllocation) -> str:
    """When: asked to go, its successor runs."""
    if each.outcome is RehearsedOutcome.PLACED and each.started_at >= 0:
        return span(each.started_at)
    if each.outcome is RehearsedOutcome.STOPPED and each.stopped_at >= 0:
        return span(each.stopped_at)
    return NONE


def _reason(waiting: WaitReason | None) -> str:
    """What lacks, and by how much on the node that lacks least (which the page links)."""
    if waiting is None:
        return "its turn did not come"
    word = dimension_word(waiting.reason) if waiting.reason else waiting.text
    if waiting.missing and waiting.node_name:
        unit = {"cpu": "MHz", "memory": "MiB"}.get(waiting.reason, "")
        return f"{word}: short by {number(waiting.missing)}{' ' + unit if unit else ''} on"
    return f"{word}: nearest is" if waiting.node_name else word or "no node takes it"


def node_lines(result: Rehearsed) -> list[RehearsedNode]:
    """Nodes that something was done to, and those whose use changed."""
    return list(result.nodes[:MOST_NODES])


def _of(some: int, count: int) -> str:
    return f"{number(some)} of {number(count)}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def change_told(change: ScenarioChange) -> str:
    """One change in words."""
    match change:
        case AddNodes(like=like, count=count):
            return f"Add {count_of(count, 'node')} like {like}"
        case RunJob(job=job):
            return f"Register job {job.id}"
        case StopJob(key=key):
            return f"Stop job {key.job_id} in {key.namespace}"
        case ScaleJob(key=key, group=group, count=count):
            return f"Scale {key.job_id}{'.' + group if group else ''} to {number(count)}"
        case ChangeSettings():
            return f"Change the scheduler: {_settings(change)}"
        case ChangeQuota(name=name, limits=limits):
            told = ", ".join(f"{wire_name(key)} {number(value)}" for key, value in limits.items())
            return f"Change quota {name}: {told}"
        case _:
            return _nodes_told(change)


def _nodes_told(change: DrainNodes | LoseNodes | PurgeNodes | MarkNodes) -> str:
    """What is done to nodes, in words."""
    nodes = _choice(change.nodes)
    match change:
        case DrainNodes(deadline=deadline, at_once=at_once):
            how = "by force, at once" if deadline < 0 else _deadline(deadline)
            left = ", system jobs left running" if change.ignore_system_jobs else ""
            pace = f", {number(at_once)} at a time" if at_once else ""
            return f"Drain {nodes}, {how}{left}{pace}"
        case MarkNodes(eligibility=eligibility):
            return f"Set {nodes} {eligibility.value}"
        case PurgeNodes():
            return f"Purge {nodes}"
        case _:
            return f"Lose {nodes}"


def _deadline(deadline: int) -> str:
    return f"deadline {span(deadline)}" if deadline else "without a deadline"


def _settings(change: ChangeSettings) -> str:
    parts = [f"algorithm {change.algorithm}"] if change.algorithm else []
    for word, value in (
        ("services preempt", change.service_preempts),
        ("batch jobs preempt", change.batch_preempts),
        ("memory is oversubscribed", change.memory_oversubscription),
    ):
        if value is not None:
            parts.append(f"{word}: {'yes' if value else 'no'}")
    return ", ".join(parts)


def _choice(choice: NodeChoice) -> str:
    if choice.node_ids:
        return count_of(len(choice.node_ids), "node")
    share = f"{choice.share} % of " if choice.share < WHOLE else ""
    return f"{share}nodes with {choice.filter}"
