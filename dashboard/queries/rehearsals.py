"""A rehearsal as a reader may see it: how far it is, or what it found.

In: a reader, an id, rights. Out: the context of `_rehearsal.html`, in one read.
"""

from typing import Any, NamedTuple

import msgspec
from django.utils.translation import gettext

from cluster.rehearsal.result import Rehearsed
from cluster.rehearsal.rights import may_see_scenario
from cluster.rehearsal.scenario import DrainNodes, Scenario
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.wire import for_reader, unpack
from dashboard.queries.what_if_helps import help_texts
from dashboard.rehearsed import allocation_lines, group_lines, node_lines, notes, sentence, sums
from dashboard.rehearsed_acts import act_of
from dashboard.rehearsed_changes import change_told
from dashboard.rehearsed_paces import pace_lines, pace_sentence
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal


class KeptRehearsal(NamedTuple):
    """One that is kept, as somebody may see it."""

    row: StoredRehearsal
    scenario: Scenario
    #: Whether the changes themselves may be told.
    may_tell: bool
    #: What was found; None while it runs, and where it found nothing.
    found: Rehearsed | None


def kept_rehearsal(reader: StateReader, rehearsal_id: str, by: Caller) -> KeptRehearsal | None:
    """The rehearsal of an id; None when it is not, or no longer, kept."""
    row = reader.get(REHEARSALS, rehearsal_id) if rehearsal_id else None
    if row is None:
        return None
    scenario = read_scenario(msgspec.json.decode(row.scenario))
    found = for_reader(unpack(row.packed), by.access) if row.packed else None
    return KeptRehearsal(row, scenario, may_see_scenario(by.access, scenario), found)


def rehearsal_context(
    reader: StateReader, rehearsal_id: str, by: Caller, now: int
) -> dict[str, Any] | None:
    """What pages show of one; None when it is not, or no longer, kept."""
    kept = kept_rehearsal(reader, rehearsal_id, by)
    if kept is None:
        return None
    access = by.access
    row, scenario, told, found = kept
    return {
        "row": row,
        "is_open": not row.has_ended,
        "may_cancel": not row.has_ended and (access.is_management or row.by_id == by.id),
        "changes": changes_told_of(reader, scenario) if told else None,
        "document": row.scenario if told else "",
        "act": act_of(scenario, access, row.id) if told else None,
        "now": now,
        # Begun, and nothing is told of it yet.
        "reads": bool(row.begun_at) and not (row.has_ended or row.evaluations or row.lasts),
        "ran_for": max(0, now - row.begun_at) if row.begun_at else 0,
        "pace": pace_told(scenario),
        "outcome": _outcome(row),
        "found": _found(found, reader.index) if found is not None else None,
    }


def changes_told_of(reader: StateReader, scenario: Scenario) -> list[str]:
    """Each change in words."""
    told = []
    for change in scenario.changes:
        words = change_told(change)
        like = getattr(change, "like", "")
        node = reader.node(like) if like else None
        told.append(words.replace(like, node.name) if node is not None else words)
    return told


def pace_told(scenario: Scenario) -> int | None:
    """Of the one drain that names paces, how many nodes it drains at a time; None: there is none.

    What the rest of a result tells is what becomes of this pace.
    """
    found = [each for each in scenario.changes if isinstance(each, DrainNodes) and each.paces]
    return found[0].at_once if len(found) == 1 else None


def _outcome(row: StoredRehearsal) -> str:
    """Why there is nothing to show, of one that ended without a result."""
    if row.status is RehearsalStatus.FAILED:
        return gettext("The rehearsal failed: {reason}.").format(
            reason=row.reason or gettext("no reason was left")
        )
    if row.status is RehearsalStatus.CANCELED:
        return gettext("The rehearsal was {reason}.").format(reason=row.reason or "canceled")
    return ""


def _found(result: Rehearsed, index: int) -> dict[str, Any]:
    told = sentence(result)
    groups, allocations, nodes = (
        group_lines(result),
        allocation_lines(result),
        node_lines(result),
    )
    return {
        "result": result,
        "told": told._replace(rest=" ".join(filter(None, (told.rest, pace_sentence(result))))),
        "sums": sums(result),
        "notes": notes(result),
        "paces": pace_lines(result),
        "helps": help_texts(result),
        "groups_unhelped": result.groups_unhelped,
        "groups": groups,
        "more_groups": len(result.groups) - len(groups) + result.groups_left_out,
        "allocations": allocations,
        "more_allocations": (
            len(result.allocations) - len(allocations) + result.allocations_left_out
        ),
        "nodes": nodes,
        "more_nodes": len(result.nodes) - len(nodes) + result.nodes_left_out,
        "index": index,
    }
