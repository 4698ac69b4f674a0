"""The list of variables: those whose paths somebody may list, each asked for by itself.

In: variables as they are stored, sealed. Out: their ListKind. Expressions ask for what `/v1/vars`
tells of a variable to everybody who may list it: neither its lock nor what it holds, which could
be guessed letter by letter.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext

from cluster.store.ports import RecordReader
from dashboard.queries.list_kind import (
    Expressed,
    Facet,
    ListColumn,
    ListField,
    ListKind,
    ListOrder,
    column_facet,
    of_all,
)
from dashboard.queries.variables import variable_line
from dashboard.rights import SOME_VARIABLES
from dashboard.texts import plural
from dashboard.wording import count_of, number
from scheduler.state import variable_nouns
from scheduler.structs.variable import SealedVariable
from scheduler.structs.wire import Nanoseconds, Wire


class ToldVariable(Wire, frozen=True):
    """What an expression is put to."""

    namespace: str = ""
    path: str = ""
    create_index: int = 0
    create_time: Nanoseconds = 0
    modify_index: int = 0
    modify_time: Nanoseconds = 0


def _told_of(variable: SealedVariable) -> ToldVariable:
    return ToldVariable(
        namespace=variable.namespace,
        path=variable.path,
        create_index=variable.create_index,
        create_time=variable.create_time,
        modify_index=variable.modify_index,
        modify_time=variable.modify_time,
    )


def _rows(_reader: RecordReader, found: Sequence[SealedVariable], _now: int) -> Mapping[str, Any]:
    return {f"{each.namespace}/{each.path}": {"line": variable_line(each)} for each in found}


def _told(counts: Mapping[str, int], total: int) -> str:
    if not total:
        return gettext("No variable that you may list.")
    told = gettext("{variable} that you may list").format(
        variable=count_of(total, "{count} variable", "{count} variables")
    )
    locked = counts.get("locked", 0)
    if not locked:
        return gettext("{told}; none is locked.").format(told=told)
    return ngettext("{told}; {locked} is locked.", "{told}; {locked} are locked.", locked).format(
        told=told, locked=number(locked)
    )


VARIABLES = ListKind(
    example="Path matches \"^nomad/jobs/\"",
    name="variables", one="variable", noun=variable_nouns.VARIABLES,
    counts=plural("{count} variable", "{count} variables"),
    capability=SOME_VARIABLES.word, is_by_path=True, expressed=Expressed(ToldVariable, _told_of),
    topics=frozenset({variable_nouns.VARIABLES.topic}),
    orders={
        "path": ListOrder("Path"),
        "changed": ListOrder("Changed", ("modify_index",), is_down=True),
        "made": ListOrder("Made", ("create_index",), is_down=True),
    },
    columns=(
        ListColumn("Path", "", "path"), ListColumn("Namespace", "m"), ListColumn("Lock", "m"),
        ListColumn("Read without a policy by"),
        ListColumn("Made", "m", "made", is_number=True),
        ListColumn("Changed", "m", "changed", is_number=True),
        ListColumn("At index", "s", is_number=True),
    ),
    facets=(
        Facet("lock", "Lock", lambda cells: "locked" if cells["is_locked"] else "free",
              lambda value: {"is_locked": value == "locked"},
              {"locked": "locked", "free": "free"}, is_open=True),
        column_facet("namespace", "Namespace"),
    ),
    counted=("is_locked", "namespace"),
    fields=(
        ListField("prefix", "Path begins with", lambda text: {"prefix": text}),
        ListField("q", "Path holds", lambda text: {"words": (text.lower(),)}),
    ),
    rows_of=of_all(_rows), template="dashboard/partials/_variable_row.html",
    container="variable-rows", sentence=_told,
    empty=("settings", "No variable",
           "Passwords and settings that tasks read by name. How a task reads one is told below."),
)  # fmt: skip
