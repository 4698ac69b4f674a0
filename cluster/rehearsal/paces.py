"""The same drain at other paces: so many nodes at a time, each rehearsed on the same record.

In: a scenario with one drain that names paces, and whoever rehearses. Out: for each pace what
became of it, in numbers, side by side.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

from msgspec.structs import replace

from cluster.rehearsal.result import RehearsalEnd, Rehearsed, RehearsedGroup, RehearsedPace
from cluster.rehearsal.scenario import DrainNodes, Scenario, ScenarioProblems

#: Ended before it was known what becomes of it.
CUT = frozenset({RehearsalEnd.TIME, RehearsalEnd.EVALUATIONS})


def with_paces(
    scenario: Scenario, result: Rehearsed, rehearse: Callable[[Scenario], Rehearsed]
) -> Rehearsed:
    """The result of a scenario with those of its other paces beside; all at once first.

    A pace that would be refused is left out; where it was the only other one, there are none.
    """
    asked = _paced(scenario)
    if asked is None or result.ending in CUT:
        return result
    place, drain = asked
    found = {drain.at_once: result}
    for pace in _others(drain):
        # Nodes that drain already cannot drain a few at a time: then there is no such pace.
        with suppress(ScenarioProblems):
            found[pace] = rehearse(_at(scenario, place, replace(drain, at_once=pace)))
    if len(found) == 1:
        return result
    ordered = sorted(found, key=lambda pace: (pace > 0, -pace))
    return replace(result, paces=tuple(_told(pace, found[pace]) for pace in ordered))


def _paced(scenario: Scenario) -> tuple[int, DrainNodes] | None:
    """The one drain that names paces, and its place."""
    found = [
        (place, change)
        for place, change in enumerate(scenario.changes)
        if isinstance(change, DrainNodes) and change.paces
    ]
    return found[0] if len(found) == 1 else None


def _others(drain: DrainNodes) -> Iterator[int]:
    yield from (pace for pace in dict.fromkeys(drain.paces) if pace != drain.at_once)


def _at(scenario: Scenario, place: int, drain: DrainNodes) -> Scenario:
    changes = list(scenario.changes)
    changes[place] = replace(drain, paces=())
    return Scenario(changes=tuple(changes))


def _told(pace: int, result: Rehearsed) -> RehearsedPace:
    totals = result.totals
    hurt = max(result.groups, key=_fell, default=None)
    return RehearsedPace(
        at_once=pace,
        ending=result.ending,
        lasts=result.lasts,
        took=result.took,
        need_place=totals.need_place,
        placed=totals.placed,
        waits=totals.waits,
        held=totals.held,
        moved_again=totals.moved_again,
        fall_below=totals.fall_below,
        end_below=totals.end_below,
        lowest=hurt if hurt is not None and hurt.lowest < _kept(hurt) else None,
    )


def _kept(group: RehearsedGroup) -> int:
    """How many of a group there should be at any time."""
    return min(group.before, group.count)


def _fell(group: RehearsedGroup) -> tuple[int, int]:
    return _kept(group) - group.lowest, group.priority
