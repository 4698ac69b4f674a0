"""Two rehearsals beside each other: what each changes, who finds a place, how long it takes.

In: a reader, a viewer, one rehearsal and the id of another. Out: lines of a table, and others to
choose from.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from django.utils.translation import gettext

from cluster.rehearsal.result import Rehearsed
from cluster.rehearsal.rights import may_see_scenario
from cluster.rehearsal.scenario_form import read_scenario
from cluster.store.ports import RecordReader
from dashboard.fleet_totals import totals_of
from dashboard.queries.rehearsals import KeptRehearsal, changes_told_of, kept_rehearsal
from dashboard.queries.what_if_nodes import fleet_after
from dashboard.rehearsed import below_half
from dashboard.topology import MappedNodes
from dashboard.viewer import Viewer
from dashboard.wording import age, clipped, clock_time, number, span
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal

_MOST_CHOICES = 20
_LONGEST = 80


class RehearsedPair(NamedTuple):
    """One line; `better`: `left`, `right` or ""."""

    word: str
    left: str
    right: str
    better: str = ""


class OtherRehearsal(NamedTuple):
    """One to compare with, or to open."""

    id: str
    told: str


class BesideRehearsal(NamedTuple):
    """The panel, ready to be written."""

    other: StoredRehearsal
    lines: tuple[RehearsedPair, ...]


def others_of(reader: RecordReader, viewer: Viewer, but: str) -> list[OtherRehearsal]:
    """Those that found something and are kept, the newest first; changes one may know."""
    rows = [
        row
        for row in reader.list_all(REHEARSALS)
        if row.status is RehearsalStatus.COMPLETE and row.id != but
    ]
    newest = sorted(rows, key=lambda row: row.asked_at, reverse=True)[:_MOST_CHOICES]
    found = []
    for row in newest:
        scenario = read_scenario(msgspec.json.decode(row.scenario))
        if not may_see_scenario(viewer.access, scenario):
            continue
        told = clipped("; ".join(changes_told_of(reader, scenario)), _LONGEST)
        found.append(OtherRehearsal(row.id, f"{told}, {clock_time(row.asked_at)}"))
    return found


def rehearsal_beside(
    reader: RecordReader,
    viewer: Viewer,
    this: KeptRehearsal,
    other_id: str,
    fleet: MappedNodes,
) -> BesideRehearsal | None:
    """Beside the other one; None where that is not kept, or found nothing."""
    other = kept_rehearsal(reader, other_id, viewer.caller)
    if other is None or other.found is None or this.found is None or not other.may_tell:
        return None
    lines = (
        RehearsedPair(
            gettext("Changes"),
            "; ".join(changes_told_of(reader, this.scenario)),
            "; ".join(changes_told_of(reader, other.scenario)),
        ),
        *_counts(this.found, other.found),
        *_clusters(this.found, other.found, fleet),
        RehearsedPair(
            gettext("Index and age"),
            _index_told(this.found, viewer.now),
            _index_told(other.found, viewer.now),
        ),
    )
    return BesideRehearsal(other.row, lines)


def _counts(left: Rehearsed, right: Rehearsed) -> Sequence[RehearsedPair]:
    a, b = left.totals, right.totals
    return (
        RehearsedPair(
            gettext("Find a place"), _placed_told(left), _placed_told(right),
            _better(-a.placed / max(a.need_place, 1), -b.placed / max(b.need_place, 1)),
        ),
        _less(gettext("Wait"), a.waits + a.held, b.waits + b.held),
        _less(gettext("Groups below their count in the end"), a.end_below, b.end_below),
        _less(
            gettext("Groups below half on the way"),
            below_half(left),
            below_half(right),
        ),
        RehearsedPair(
            gettext("Until all is calm"), span(left.lasts), span(right.lasts),
            _better(left.lasts, right.lasts),
        ),
    )  # fmt: skip


def _clusters(left: Rehearsed, right: Rehearsed, fleet: MappedNodes) -> Sequence[RehearsedPair]:
    a, b = (
        totals_of(after.places.values(), after.sums)
        for after in (fleet_after(fleet, left), fleet_after(fleet, right))
    )
    return (
        RehearsedPair(
            gettext("Memory allocated after"), f"{a.memory_share} %", f"{b.memory_share} %"
        ),
        RehearsedPair(gettext("Nodes after"), number(a.nodes - a.lost), number(b.nodes - b.lost)),
    )


def _placed_told(found: Rehearsed) -> str:
    return gettext("{placed} of {need_place}").format(
        placed=number(found.totals.placed), need_place=number(found.totals.need_place)
    )


def _less(word: str, left: int, right: int) -> RehearsedPair:
    return RehearsedPair(word, number(left), number(right), _better(left, right))


def _better(left: float, right: float) -> str:
    """The side of which there is less."""
    return "" if left == right else "left" if left < right else "right"


def _index_told(found: Rehearsed, now: int) -> str:
    return gettext("{index}, {age} old").format(
        index=number(found.index), age=age(found.read_at, now)
    )
