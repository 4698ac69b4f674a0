"""The list of compositions that are kept under names, and what is about to be kept.

In: a viewer, the account, rows of the address. Out: the context of `saved_compositions.html`. The
record is not read: each row is told as it was written.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.urls import reverse
from django.utils.translation import gettext

from dashboard.compositions import LONGEST_NAME, Composition, compositions
from dashboard.queries.composed import (
    KINDS,
    OF_NODES,
    WHERES,
    AskedChange,
    fields_of_rows,
    rows_of_fields,
)
from dashboard.viewer import Viewer, crumbs
from dashboard.wording import NONE


class SavedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One that is kept."""

    value: Composition
    changes: tuple[str, ...]
    #: The form, filled with it.
    url: str


def saved_page(viewer: Viewer, user: Any, rows: Sequence[AskedChange]) -> dict[str, Any]:
    """The list, and the form that keeps `rows` where there are any."""
    fields = fields_of_rows(rows)
    return {
        "lines": [
            SavedLine(
                value=each,
                changes=tuple(row_told(row) for row in rows_of_fields(each.fields)),
                url=reverse("what-if", query={"saved": str(each.id)}),
            )
            for each in compositions(viewer, user)
        ],
        "saving": [row_told(row) for row in rows],
        "fields": fields,
        "back": reverse("what-if", query=fields),
        "longest": LONGEST_NAME,
        "crumbs": crumbs((gettext("What if"), reverse("what-if")), (gettext("Saved"), "")),
    }


def row_told(row: AskedChange) -> str:
    """`Lose nodes: 40 % of rack r4`, as the fields say it."""
    told = row.told
    match row.kind:
        case kind if kind in OF_NODES:
            share = told("share")
            part = gettext("{share} % of ").format(share=share) if share != "100" else ""
            where = gettext(WHERES.get(told("where"), told("where")))
            about = f"{part}{where} {told('is') or NONE}"
        case "add":
            about = gettext("{many} like {name}").format(
                many=told("many") or NONE, name=told("like") or NONE
            )
        case "quota":
            limits = ((told("memory"), "MiB"), (told("cpu"), "MHz"))
            parts = [f"{limit} {unit}" for limit, unit in limits if limit]
            about = " ".join([told("quota"), *parts])
        case "count":
            about = gettext("{count} of {job}").format(
                count=told("count") or NONE, job=told("job") or NONE
            )
        case "stop":
            about = told("job")
        case _:
            about = told("prefer")
    return f"{gettext(KINDS[row.kind])}: {about or NONE}"
