"""What a rehearsal found, in lines for a terminal.

In: a result. Out: lines; counts first, then what hurts, then each allocation.
"""

from collections.abc import Iterator

from cluster.jobspec.durations import duration_text
from cluster.rehearsal.result import (
    Rehearsed,
    RehearsedAllocation,
    RehearsedGroup,
    RehearsedOutcome,
)
from cluster.rehearsal.words import ASSUMED, ENDED

_SECOND = 1_000_000_000
#: Allocations and groups that are printed; the whole is in the JSON form.
_MOST = 40


def told(result: Rehearsed) -> Iterator[str]:
    """What a terminal shows of it, line by line."""
    totals = result.totals
    yield (
        f"{totals.placed} of {totals.need_place} find a place on"
        f" {_count(totals.destinations, 'node')};"
        f" {totals.waits} wait, {totals.held} are held up."
    )
    others = [
        f"{count} {word}"
        for count, word in (
            (totals.finishes, "left to finish"),
            (totals.stopped, "stop"),
            (totals.updated, "stay where they are"),
        )
        if count
    ]
    if others:
        yield f"{', '.join(others)}."
    yield (
        f"Groups below their count: {totals.end_below} in the end,"
        f" {totals.fall_below} at some time."
        f" All is quiet after {span(result.lasts)}."
    )
    yield (
        f"Rehearsed at index {result.index} in {result.took / _SECOND:.1f} s,"
        f" {_count(totals.evaluations, 'evaluation')}."
    )
    if ENDED[result.ending]:
        yield ENDED[result.ending]
    yield from (f"Note: {ASSUMED[each]}." for each in result.assumptions)
    yield from _paces(result)
    yield from _groups([each for each in result.groups if _hurts(each)])
    yield from _helps(result)
    moving = [each for each in result.allocations if each.outcome is not RehearsedOutcome.UPDATED]
    yield from _allocations(moving)


def span(nanoseconds: int) -> str:
    """A span of time without more than a second's tenths."""
    tenth = _SECOND // 10
    return duration_text(round(nanoseconds / tenth) * tenth)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _hurts(group: RehearsedGroup) -> bool:
    return group.after < group.count or group.lowest < min(group.before, group.count)


def _paces(result: Rehearsed) -> Iterator[str]:
    if result.paces:
        yield ""
        yield f"{'At once':>7} {'placed':>6} {'waits':>6} {'held':>6} {'below':>6}  until calm"
    for pace in result.paces:
        numbers = (pace.placed, pace.waits, pace.held, pace.fall_below)
        columns = " ".join(f"{figure:6}" for figure in numbers)
        end = f"  {ENDED[pace.ending]}" if ENDED[pace.ending] else ""
        yield f"{pace.at_once or 'all':>7} {columns}  {span(pace.lasts)}{end}"


def _groups(groups: list[RehearsedGroup]) -> Iterator[str]:
    if groups:
        yield ""
        yield f"{'Job':40} {'wanted':>6} {'lowest':>6} {'end':>6} {'waits':>6}  below for"
    for group in groups[:_MOST]:
        name = f"{group.job_id}.{group.task_group}"
        yield (
            f"{name:40} {group.count:6} {group.lowest:6} {group.after:6} {group.waits:6}"
            f"  {span(group.below_for)}"
        )
    if len(groups) > _MOST:
        yield f"and {len(groups) - _MOST} more"


def _helps(result: Rehearsed) -> Iterator[str]:
    """Single changes that were rehearsed as well, and helped."""
    if result.helps:
        yield ""
        yield "Would help:"
    for each in result.helps:
        change = each.change
        about = (change.node_name, change.quota, change.datacenter, change.constraint)
        amounts = (
            f"{value} {unit}"
            for value, unit in (
                (change.count, ""),
                (change.amounts.cpu, "MHz"),
                (change.amounts.memory_mb, "MiB"),
            )
            if value
        )
        said = " ".join([change.change.value, *filter(None, about)])
        yield (
            f"  {said} ({', '.join(amounts).strip()}): {each.fits} of {each.waiting}"
            f" of {each.job_id}.{each.task_group}"
        )


def _allocations(allocations: list[RehearsedAllocation]) -> Iterator[str]:
    if allocations:
        yield ""
        yield f"{'Allocation':40} {'from':20} {'to':20} {'score':>6}  after"
    for each in allocations[:_MOST]:
        yield f"{each.name:40} {each.from_node_name or '-':20} {_fate(each)}"
    if len(allocations) > _MOST:
        yield f"and {len(allocations) - _MOST} more; --json prints all"


def _fate(each: RehearsedAllocation) -> str:
    if each.outcome is RehearsedOutcome.PLACED:
        score = "" if each.score is None else f"{each.score:.3f}"
        return f"{each.to_node_name:20} {score:>6}  {span(max(0, each.started_at))}"
    if each.waiting is None:
        return each.outcome.value
    where = f" on {each.waiting.node_name}" if each.waiting.node_name else ""
    return f"{each.outcome.value}: {each.waiting.text or each.waiting.reason + where}"
