"""The page *What if*: changes composed row by row, and what their rehearsal found.

In: a reader, a viewer, rows of the address, the id of a rehearsal. Out: the context of
`what_if.html`, in a number of reads that does not grow with the cluster.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext

from cluster.rehearsal.result import RehearsalEnd, Rehearsed
from cluster.store.ports import RecordReader
from dashboard.queries.composed import (
    MOST_ROWS,
    AskedChange,
    fields_of_rows,
    rack_key_of,
    rows_of_scenario,
)
from dashboard.queries.composed_told import Composer
from dashboard.queries.rehearsals import kept_rehearsal, rehearsal_context
from dashboard.queries.what_if_beside import others_of, rehearsal_beside
from dashboard.queries.what_if_helps import help_lines, help_sentence
from dashboard.queries.what_if_jobs import job_sections, refused_count, sum_told
from dashboard.queries.what_if_nodes import before_after, destinations_told
from dashboard.rehearsed import MOST_GROUPS, RehearsedSum, group_lines
from dashboard.topology import MappedNodes, rack_keys, rack_label
from dashboard.viewer import Absent, Viewer
from dashboard.wording import count_of, number, obstacle_word, span
from scheduler.structs.rehearsal import StoredRehearsal

#: Allocations that are shown until all are asked for; kinds of lacks that are named.
_SHOWN_ALLOCATIONS, _MOST_LACKS = 20, 3
_TABLES = ("nodes", "jobs", "allocations", "deployments")


def read_nodes(reader: RecordReader) -> MappedNodes:
    """All nodes as they are, in two reads."""
    places = {each.id: each for each in reader.node_places(rack_keys())}
    return MappedNodes(places, reader.node_sums(), rack_label(places.values()))


def what_if_page(
    reader: RecordReader, viewer: Viewer, rows: Sequence[AskedChange]
) -> dict[str, Any]:
    """The form alone, as the address fills it."""
    return {
        **Composer(reader, viewer, read_nodes(reader)).shown(rows),
        "others": others_of(reader, viewer, ""),
        "composed_url": reverse("what-if", query=fields_of_rows(rows)) if rows else "",
        **_limits(reader),
    }


def rehearsal_page(
    reader: RecordReader,
    viewer: Viewer,
    rehearsal_id: str,
    rows: Sequence[AskedChange],
    asked: Mapping[str, str],
) -> dict[str, Any]:
    """One rehearsal. Raises Absent.

    Of an act of a button the act stands beside what was found; all else is composed again.
    """
    found = rehearsal_context(reader, rehearsal_id, viewer.caller, viewer.now)
    kept = kept_rehearsal(reader, rehearsal_id, viewer.caller)
    if found is None or kept is None:
        raise Absent
    if found["act"] is not None:
        return {"rehearsal": found}
    fleet = read_nodes(reader)
    given = rows
    if not given and kept.may_tell:
        given = rows_of_scenario(reader, kept.scenario, rack_key_of(fleet.rack_label)) or ()
    context: dict[str, Any] = {
        "rehearsal": found,
        "is_composed": bool(given),
        **Composer(reader, viewer, fleet).shown(given),
        "others": others_of(reader, viewer, rehearsal_id),
        "composed_url": reverse("what-if", query=fields_of_rows(given)) if given else "",
        **_limits(reader),
    }
    if kept.found is not None:
        lines = group_lines(kept.found)
        heat = before_after(fleet, kept.found)
        other = asked.get("beside", "")
        context |= {
            "figures": _figures(kept.found, kept.row, refused_count(lines)),
            "heat_sides": (heat.before, heat.after),
            "sections": job_sections(lines, kept.found, opened=asked.get("jobs", "") == "all"),
            "helps": help_lines(
                reader, viewer, kept.found, lambda row: _with_row(row, given, rehearsal_id)
            ),
            "help_told": help_sentence(kept.found),
            "sum_told": sum_told(kept.found.totals),
            "destinations": destinations_told(fleet, kept.found),
            "groups_left": len(kept.found.groups) + kept.found.groups_left_out - MOST_GROUPS,
            "since": _since(reader, kept.found),
            **_fold_allocations(found["found"], opened=asked.get("allocations", "") == "all"),
            "is_cut": kept.found.ending in (RehearsalEnd.TIME, RehearsalEnd.EVALUATIONS),
            "beside_id": other,
            "compared": rehearsal_beside(reader, viewer, kept, other, fleet) if other else None,
        }
    return context


def _with_row(more: AskedChange, rows: Sequence[AskedChange], rehearsal_id: str) -> str:
    """The form with one more change, beside what was found; "" where it composes nothing."""
    if not rows or len(rows) >= MOST_ROWS:
        return ""
    fields = fields_of_rows([*rows, more])
    return reverse("rehearsal", args=[rehearsal_id], query=fields)


def _limits(reader: RecordReader) -> dict[str, Any]:
    return {
        "most_ns": round(settings.BIVOUAC_REHEARSAL_SECONDS * 1_000_000_000),
        "most_seconds": f"{settings.BIVOUAC_REHEARSAL_SECONDS:g}",
        "most_mib": number(settings.BIVOUAC_REHEARSAL_MEMORY_MIB),
        "page_index": reader.index,
    }


def _figures(found: Rehearsed, row: StoredRehearsal, refused: int) -> list[RehearsedSum]:
    """The five numbers under the form."""
    totals = found.totals
    share = round(100 * totals.placed / totals.need_place) if totals.need_place else 0
    waits = totals.waits + totals.held - refused
    below = (
        gettext("{groups} below their count in the end").format(
            groups=count_of(totals.end_below, "{count} group", "{count} groups")
        )
        if totals.end_below
        else ""
    )
    return [
        RehearsedSum(
            gettext("Find a place"),
            number(totals.placed),
            gettext("of {need_place} that need one; {share} %").format(
                need_place=number(totals.need_place), share=share
            )
            if totals.need_place
            else gettext("nothing needs a new place"),
        ),
        RehearsedSum(
            gettext("Wait"), number(waits), _lacks(found) or below, "blocked" if waits else ""
        ),
        RehearsedSum(
            gettext("Refused"),
            number(refused),
            gettext("by a quota") if refused else "",
            "failed" if refused else "",
        ),
        RehearsedSum(
            gettext("Until all is calm"),
            span(found.lasts),
            gettext("{evaluations} of {jobs}").format(
                evaluations=count_of(
                    totals.evaluations, "{count} evaluation", "{count} evaluations"
                ),
                jobs=count_of(totals.jobs, "{count} job", "{count} jobs"),
            ),
        ),
        RehearsedSum(
            gettext("Cost of the rehearsal"),
            span(found.took),
            gettext("{memory} MiB, in a process of its own").format(memory=number(row.memory_mb))
            if row.memory_mb
            else gettext("in a process of its own"),
        ),
    ]


def _lacks(found: Rehearsed) -> str:
    """What those that wait lack, and how many of them: `memory 31, CPU 10`."""
    counts: Counter[str] = Counter()
    for group in found.groups:
        waiting = group.waiting
        if group.waits and waiting is not None and waiting.reason and not waiting.is_of_quota:
            counts[obstacle_word(waiting.reason)] += group.waits
    return ", ".join(f"{word} {number(count)}" for word, count in counts.most_common(_MOST_LACKS))


def _fold_allocations(shown: dict[str, Any], *, opened: bool) -> dict[str, Any]:
    """The first ones only, unless all are asked for; how many are folded."""
    lines = shown["allocations"]
    if opened or len(lines) <= _SHOWN_ALLOCATIONS:
        return {"folded_allocations": 0}
    shown["allocations"] = lines[:_SHOWN_ALLOCATIONS]
    return {"folded_allocations": len(lines) - _SHOWN_ALLOCATIONS}


def _since(reader: RecordReader, found: Rehearsed) -> str:
    """How much the record has changed since, and whether any of it can matter."""
    changes = reader.index - found.index
    if changes <= 0:
        return gettext("nothing has changed")
    told = count_of(changes, "{count} change", "{count} changes")
    newest = max(reader.table_index(table) for table in _TABLES)
    if newest > found.index:
        return gettext("{told}, of nodes or jobs too").format(told=told)
    return gettext("{told}, none of a node, a job or an allocation").format(told=told)
